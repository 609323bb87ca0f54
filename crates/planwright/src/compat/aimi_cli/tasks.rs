//! Finds and reads a tasks file with a known version and a list of stories. Does not report other errors.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use planwright_core::document::{Document, NodeKind, NodeRef, json};
use planwright_core::text::SourceText;
use planwright_run::store;

use super::jq::{self, Value};
use super::state;
use super::{Refused, refused};

const FOLDER: &str = ".aimi/tasks";

/// The version of the original that a file belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Schema {
    /// `passes` and `skipped`: version 1.10.
    V2,
    /// `status` and `dependsOn`: version 1.21.
    V3,
}

/// The text of a tasks file, parsed.
pub(super) struct Tasks {
    pub(super) schema: Schema,
    document: Document,
}

impl Tasks {
    /// Parses a text; refuses one that is no tasks file.
    pub(super) fn read(source: &SourceText) -> Result<Self, Refused> {
        let parsed = json::parse(source);
        if parsed.document.is_broken() {
            return Err(not_json(source, &parsed.diagnostics));
        }
        let root = parsed.document.root();
        let stories = jq::get(root, "userStories").filter(|stories| stories.kind() == NodeKind::Array);
        let Some(stories) = stories else {
            return Err(invalid("userStories", "Add a list of stories as userStories."));
        };
        if let Some(position) = stories.elements().position(|story| story.kind() != NodeKind::Object) {
            let field = format!("userStories[{position}]");
            return Err(invalid(&field, "Replace it with a story object."));
        }
        Ok(Tasks {
            schema: schema_of(jq::get(root, "schemaVersion"), stories)?,
            document: parsed.document,
        })
    }

    /// Returns the parsed text.
    pub(super) fn document(&self) -> &Document {
        &self.document
    }

    /// Returns a member of the root.
    pub(super) fn member(&self, key: &str) -> Value<'_> {
        jq::get(self.document.root(), key)
    }

    /// Returns a member of the metadata.
    pub(super) fn metadata(&self, key: &str) -> Value<'_> {
        jq::get(self.member("metadata"), key)
    }

    /// Returns the schema version as written, or that of v2 if it is missing.
    pub(super) fn version(&self) -> String {
        match self.member("schemaVersion") {
            version if jq::is_nothing(version) => "2.2".to_owned(),
            version => jq::raw(version),
        }
    }

    /// Returns the stories in the order of the file.
    pub(super) fn stories(&self) -> impl Iterator<Item = AimiStory<'_>> {
        self.member("userStories")
            .into_iter()
            .flat_map(NodeRef::elements)
            .map(AimiStory)
    }

    /// Returns the stories with an id, by position.
    pub(super) fn with_id<'t>(&'t self, id: &'t str) -> impl Iterator<Item = (usize, AimiStory<'t>)> {
        self.stories()
            .enumerate()
            .filter(move |(_, story)| jq::is_string(story.id(), id))
    }

    /// Returns the pending stories; in version 2 those that are neither passed nor skipped.
    pub(super) fn pending(&self) -> impl Iterator<Item = AimiStory<'_>> {
        self.stories().filter(|story| match self.schema {
            Schema::V3 => story.has_status("pending"),
            Schema::V2 => story.is_false("passes") && !story.is_true("skipped"),
        })
    }
}

/// One story.
#[derive(Clone, Copy)]
pub(super) struct AimiStory<'t>(NodeRef<'t>);

impl<'t> AimiStory<'t> {
    /// Returns the object.
    pub(super) fn node(self) -> NodeRef<'t> {
        self.0
    }

    /// Returns a field.
    pub(super) fn get(self, key: &str) -> Value<'t> {
        jq::get(Some(self.0), key)
    }

    /// Returns the id, of any kind.
    pub(super) fn id(self) -> Value<'t> {
        self.get("id")
    }

    /// Returns whether its status is this word.
    pub(super) fn has_status(self, word: &str) -> bool {
        jq::is_string(self.get("status"), word)
    }

    /// Returns whether a field is true.
    pub(super) fn is_true(self, key: &str) -> bool {
        jq::kind(self.get(key)) == NodeKind::True
    }

    fn is_false(self, key: &str) -> bool {
        jq::kind(self.get(key)) == NodeKind::False
    }

    /// Returns its dependencies, as written; none if they are no list.
    pub(super) fn dependencies(self) -> Option<Vec<NodeRef<'t>>> {
        let written = self.get("dependsOn");
        let Some(node) = written.filter(|_| !jq::is_nothing(written)) else {
            return Some(Vec::new());
        };
        match node.kind() {
            NodeKind::Array => Some(node.elements().collect()),
            // The original checks the length first: an empty value has no dependencies.
            NodeKind::String if node.value().is_empty() => Some(Vec::new()),
            NodeKind::Number if jq::number_of(written) == Some(0.0) => Some(Vec::new()),
            NodeKind::Object if node.own_members().next().is_none() => Some(Vec::new()),
            _ => None,
        }
    }
}

fn schema_of(version: Value<'_>, stories: NodeRef<'_>) -> Result<Schema, Refused> {
    let Some(node) = version.filter(|node| node.kind() != NodeKind::Null) else {
        let has_passes = |story: NodeRef<'_>| story.get("passes").is_some();
        return match stories.elements().any(has_passes) {
            true => Ok(Schema::V2),
            false => Err(invalid("schemaVersion", "Add \"schemaVersion\": \"3.0\".")),
        };
    };
    let text = if node.kind() == NodeKind::String {
        node.value()
    } else {
        "".into()
    };
    match text.get(..2) {
        Some("3.") => Ok(Schema::V3),
        Some("2.") => Ok(Schema::V2),
        _ => Err(unknown_version(&jq::interpolated(version))),
    }
}

/// Refuses an unknown version.
pub(super) fn unknown_version(version: &str) -> Refused {
    refused(
        format!("Unknown schema version: {version}"),
        "Set schemaVersion to \"3.0\", or use a planwright that knows this version.",
    )
}

/// Refuses a file because of one of its fields.
pub(super) fn invalid(field: &str, fix: &str) -> Refused {
    refused(format!("Invalid tasks.json - {field} is missing or invalid."), fix)
}

fn not_json(source: &SourceText, found: &[planwright_core::diagnostic::Diagnostic]) -> Refused {
    let first = found.iter().find_map(|found| Some((found, found.span?)));
    let Some((first, span)) = first else {
        return refused("Invalid tasks.json - it is not JSON.", "Write one JSON object.");
    };
    let place = source.line_index().position(span.start);
    let message = format!(
        "Invalid tasks.json - line {}, column {}: {}",
        place.line, place.column, first.message
    );
    refused(message, first.help.clone())
}

/// A tasks file that was found, but not read yet.
pub(super) struct Located {
    /// Its path, relative to the current folder.
    pub(super) path: PathBuf,
    pointer: Pointer,
}

/// The tasks file in the state.
enum Pointer {
    /// No path.
    None,
    /// An existing file.
    Followed(String),
    /// A missing file.
    Stale(String),
}

impl Located {
    /// Finds the file in the state, otherwise the newest one.
    pub(super) fn find() -> Result<Self, Refused> {
        let pointer = state::read(state::TASKS);
        if pointer.is_empty() {
            return Located::newest();
        }
        let path = PathBuf::from(&pointer);
        if !path.is_file() {
            let newest = Located::newest()?;
            return Ok(Located {
                pointer: Pointer::Stale(pointer),
                ..newest
            });
        }
        if !is_at_home(&path) {
            return Err(refused(
                format!(
                    "{}/{} points out of this folder: {pointer}",
                    state::FOLDER,
                    state::TASKS
                ),
                "Run init-session in the folder of the tasks file.",
            ));
        }
        Ok(Located {
            path,
            pointer: Pointer::Followed(pointer),
        })
    }

    /// Finds the newest file, regardless of the state.
    pub(super) fn newest() -> Result<Self, Refused> {
        let path = newest_file().ok_or(Refused {
            message: format!("No tasks file found in {FOLDER}/\n"),
        })?;
        Ok(Located {
            path,
            pointer: Pointer::None,
        })
    }

    /// Reads the file.
    pub(super) fn open(&self) -> Result<Tasks, Refused> {
        let loaded = store::load(&self.path).map_err(|error| refused(error.to_string(), error.help()))?;
        Tasks::read(&loaded.source)
    }

    /// Returns the path in the notation of the answering version.
    pub(super) fn shown(&self, schema: Schema) -> String {
        match (&self.pointer, schema) {
            (Pointer::Followed(path), _) => path.clone(),
            (_, Schema::V2) => self.path.to_string_lossy().into_owned(),
            (_, Schema::V3) => {
                let absolute = self.path.canonicalize().unwrap_or_else(|_| self.path.clone());
                absolute.to_string_lossy().into_owned()
            }
        }
    }

    /// Returns the path in the state if the file is missing.
    pub(super) fn stale_pointer(&self) -> Option<&str> {
        match &self.pointer {
            Pointer::Stale(path) => Some(path),
            _ => None,
        }
    }
}

/// Returns whether a path is below this folder, or below the target of its `.aimi`.
fn is_at_home(path: &Path) -> bool {
    let Ok(target) = path.canonicalize() else {
        return false;
    };
    [".", state::FOLDER]
        .iter()
        .filter_map(|home| Path::new(home).canonicalize().ok())
        .any(|home| target.starts_with(home))
}

/// Returns the file that was changed last; of several the first by name.
fn newest_file() -> Option<PathBuf> {
    let entries = std::fs::read_dir(FOLDER).ok()?;
    let candidate = |entry: std::fs::DirEntry| {
        let name = entry.file_name().into_string().ok()?;
        let path = Path::new(FOLDER).join(&name);
        let metadata = std::fs::metadata(&path).ok().filter(std::fs::Metadata::is_file)?;
        let is_tasks = name.ends_with("-tasks.json") && !name.starts_with('.');
        let changed = metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH);
        is_tasks.then_some((std::cmp::Reverse(changed), path))
    };
    entries.flatten().filter_map(candidate).min().map(|(_, path)| path)
}
