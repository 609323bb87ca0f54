//! The verb `new`: creates a valid plan without tasks.

use std::path::PathBuf;

use planwright_core::convert::new_plan;
use planwright_core::text::SourceText;
use planwright_run::layout::root_of;
use planwright_run::shell::argument;
use serde::Deserialize;

use crate::configuration::sound_config;
use crate::failure::{Failure, Result};
use crate::planning::{
    CreatedText, NamedText, WrittenReport, create_plan, derived_by, dialect_or_default, new_path_of, remark_same_title,
    require_new, with_id_source_for,
};
use crate::workspace::Workspace;

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NewRequest {
    pub title: String,
    /// The dialect; none for the default of the workspace.
    pub dialect: Option<String>,
    /// The new file; none for the place where the dialect's own tool stores plans.
    pub out: Option<PathBuf>,
    #[serde(default)]
    pub dry_run: bool,
    #[serde(default)]
    pub diff: bool,
}

pub fn new(workspace: &Workspace, request: &NewRequest) -> Result<WrittenReport> {
    let root = root_of(workspace.folder());
    let config = sound_config(workspace, &root, "nothing is planned by it")?.config;
    let dialect = dialect_or_default(request.dialect.as_deref(), &config, &root, request.out.as_deref())?;
    let title = &request.title;
    let out = request.out.as_ref().map(|out| workspace.path(out));
    let (date, made) = with_id_source_for(workspace, dialect, out.as_deref(), |id_source| {
        (id_source.date().to_owned(), new_plan(dialect, title, id_source))
    });
    let (text, notes) = made.map_err(|refused| Failure::problem(refused.to_string(), "choose another title"))?;
    let out = out.unwrap_or_else(|| new_path_of(workspace, dialect, &text, &date, Some(title)));
    let is_written = !request.dry_run && !request.diff;
    require_new(&out)?;
    remark_same_title(workspace, &text, dialect, None);
    if is_written {
        create_plan(workspace, &out, &text, dialect)?;
    }
    let needed = dialect.edits().and_then(|edits| edits.needed());
    let needed = needed.map_or_else(String::new, |needed| format!(" {needed}"));
    let path = argument(&out.to_string_lossy());
    let is_filled_by_hand = is_written && derived_by(dialect).is_none();
    let written = CreatedText {
        verb: "new",
        dialect,
        out: Some(&out),
        is_written,
        text: &text,
        notes,
        old: request.diff.then_some(""),
    };
    let origin = NamedText {
        path: out.clone(),
        source: SourceText::new(text.as_str()),
    };
    Ok(WrittenReport {
        next: is_filled_by_hand.then(|| format!("planwright add \"TITLE\"{needed} -p {path}")),
        ..written.report(origin)
    })
}
