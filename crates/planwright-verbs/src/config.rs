//! The verb `config`: the settings of a workspace, and the source of each value.

use std::path::Path;

use planwright_run::config::{
    self, ConfigInputs, ConfigLevel, Configuration, EffectiveSetting, SettingOrigin, SourceKind,
};
use planwright_run::workspace::root_of;
use serde::{Deserialize, Serialize};

use crate::configuration::{exit_of, findings_of};
use crate::failure::{Exit, Result};
use crate::json::DiagnosticReport;
use crate::workspace::{FileFindings, Workspace, from_here};

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ConfigRequest {}

#[derive(Serialize)]
pub struct ConfigReport {
    pub schema_version: &'static str,
    /// Whether there are no findings.
    pub sound: bool,
    pub sources: Vec<SourceReport>,
    pub settings: Vec<SettingReport>,
    #[serde(skip)]
    pub findings: Vec<FileFindings>,
    #[serde(skip)]
    pub exit: Exit,
}

/// A file or a variable with settings.
#[derive(Serialize)]
pub struct SourceReport {
    /// `user`, `project`, `environment` or `flag`.
    pub level: &'static str,
    pub path: Option<String>,
    pub name: Option<String>,
    pub findings: Vec<DiagnosticReport>,
}

#[derive(Serialize)]
pub struct SettingReport {
    pub key: String,
    /// As it would be written in TOML.
    pub value: String,
    pub origin: OriginReport,
}

#[derive(Default, Serialize)]
pub struct OriginReport {
    /// `default`, `preset`, `user`, `project`, `environment` or `flag`.
    pub level: &'static str,
    pub path: Option<String>,
    pub line: Option<usize>,
    pub column: Option<usize>,
    /// The variable, the flag or the preset.
    pub name: Option<String>,
}

pub fn config(workspace: &Workspace, _: &ConfigRequest) -> Result<ConfigReport> {
    let configuration = config::load(&root_of(workspace.folder()), &ConfigInputs::of_process());
    let findings = findings_of(&configuration);
    Ok(ConfigReport {
        schema_version: "planwright.config/v1",
        sound: findings.iter().all(|source| source.findings.is_empty()),
        sources: source_reports(&configuration),
        settings: configuration.effective.iter().map(setting_report).collect(),
        findings,
        exit: exit_of(&configuration),
    })
}

pub(crate) fn source_reports(configuration: &Configuration) -> Vec<SourceReport> {
    let sources = configuration.sources.iter().map(|source| {
        let index = source.text.line_index();
        let (level, path, name) = match &source.kind {
            SourceKind::File { level, path } => (level_word(*level), Some(shown(path)), None),
            SourceKind::Variable(name) => ("environment", None, Some(name.clone())),
            SourceKind::Flag(name) => ("flag", None, Some(name.clone())),
        };
        let findings = source.findings.iter();
        SourceReport {
            level,
            path,
            name,
            findings: findings.map(|finding| DiagnosticReport::new(finding, &index)).collect(),
        }
    });
    sources.collect()
}

fn setting_report(row: &EffectiveSetting) -> SettingReport {
    SettingReport {
        key: row.path.clone(),
        value: row.value.clone(),
        origin: OriginReport::from(&row.origin),
    }
}

impl From<&SettingOrigin> for OriginReport {
    fn from(origin: &SettingOrigin) -> Self {
        let named = |level, name: Option<&str>| OriginReport {
            level,
            name: name.map(str::to_owned),
            ..OriginReport::default()
        };
        match origin {
            SettingOrigin::Default => named("default", None),
            SettingOrigin::Preset(name) => named("preset", Some(name)),
            SettingOrigin::Variable(name) => named("environment", Some(name)),
            SettingOrigin::Flag(name) => named("flag", Some(name)),
            SettingOrigin::File {
                level,
                path,
                line,
                column,
            } => OriginReport {
                level: level_word(*level),
                path: Some(shown(path)),
                line: Some(*line),
                column: Some(*column),
                name: None,
            },
        }
    }
}

fn level_word(level: ConfigLevel) -> &'static str {
    match level {
        ConfigLevel::User => "user",
        ConfigLevel::Project => "project",
    }
}

fn shown(path: &Path) -> String {
    from_here(path).to_string_lossy().into_owned()
}
