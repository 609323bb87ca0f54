//! Loads the texts of a configuration: two files, the environment, the command line.

use std::path::{Path, PathBuf};

use planwright_core::diagnostic::Diagnostic;
use planwright_core::text::SourceText;

use super::rules::CONFIG_UNREADABLE;
use super::{ConfigFlag, ConfigLevel, ConfigSource, Configuration, SourceKind, assemble};
use crate::layout::CONFIG_FILE;
use crate::store;

pub(crate) const MAX_CONFIG_BYTES: usize = 1 << 20;

/// The inputs of a configuration other than the project's file.
#[derive(Clone, Debug, Default)]
pub struct ConfigInputs {
    pub user_file: Option<PathBuf>,
    /// Variables of the environment. Those without our prefix are ignored.
    pub variables: Vec<(String, String)>,
    pub flags: Vec<ConfigFlag>,
}

impl ConfigInputs {
    /// Returns the inputs of this process, without flags.
    pub fn of_process() -> Self {
        let folder = |name: &str| {
            let folder = std::env::var_os(name).map(PathBuf::from);
            folder.filter(|folder| folder.is_absolute())
        };
        let config = folder("XDG_CONFIG_HOME").or_else(|| Some(folder("HOME")?.join(".config")));
        // A value that is not UTF-8 is invalid for every setting, and is reported.
        let variables = std::env::vars_os().map(|(name, value)| {
            let [name, value] = [name, value].map(|text| text.to_string_lossy().into_owned());
            (name, value)
        });
        let mut variables: Vec<_> = variables.filter(|(name, _)| name.starts_with("PLANWRIGHT_")).collect();
        variables.sort();
        ConfigInputs {
            user_file: config.map(|config| config.join("planwright").join("config.toml")),
            variables,
            flags: Vec::new(),
        }
    }
}

pub fn load(root: &Path, surroundings: &ConfigInputs) -> Configuration {
    let user = surroundings
        .user_file
        .iter()
        .map(|path| (ConfigLevel::User, path.clone()));
    let files = user.chain([(ConfigLevel::Project, root.join(CONFIG_FILE))]);
    let files = files.filter_map(|(level, path)| file(level, path)).collect();
    assemble(files, &surroundings.variables, &surroundings.flags)
}

/// Reads a file; none if it does not exist.
fn file(level: ConfigLevel, path: PathBuf) -> Option<ConfigSource> {
    let metadata = match std::fs::metadata(&path) {
        Ok(metadata) => Some(metadata),
        // A dangling link is an error, not a missing file.
        Err(error) if is_absent(&error) && !path.is_symlink() => return None,
        Err(_) => None,
    };
    let is_large = metadata.is_some_and(|metadata| metadata.is_file() && metadata.len() > MAX_CONFIG_BYTES as u64);
    let read = if is_large {
        Err(format!("it is larger than {MAX_CONFIG_BYTES} bytes"))
    } else {
        store::load(&path).map_err(|error| why(&error))
    };
    let mut source = ConfigSource {
        kind: SourceKind::File { level, path },
        text: SourceText::new(""),
        findings: Vec::new(),
    };
    match read {
        Ok(loaded) => source.text = loaded.source,
        Err(why) => source.findings.push(Diagnostic::of_file(
            &CONFIG_UNREADABLE,
            format!("the configuration cannot be read: {why}"),
        )),
    }
    Some(source)
}

fn is_absent(error: &std::io::Error) -> bool {
    matches!(
        error.kind(),
        std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory
    )
}

/// Returns why a file was not read, without its path, which the caller shows.
fn why(error: &store::LoadError) -> String {
    use store::LoadError;
    match error {
        LoadError::Missing { .. } => "it is a link that leads nowhere".to_owned(),
        LoadError::Directory { .. } => "it is a folder".to_owned(),
        LoadError::Special { what, .. } => format!("it is {what}"),
        LoadError::LinkLoop { .. } => "it is a symbolic link that leads back to itself".to_owned(),
        LoadError::TooLarge { n_bytes, .. } => format!("it has {n_bytes} bytes"),
        LoadError::Changing { .. } => "it keeps changing".to_owned(),
        LoadError::Io { source, .. } => source.to_string(),
    }
}
