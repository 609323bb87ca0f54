//! Law for any configuration: findings have spans, and the effective settings read back as the same.

use std::path::PathBuf;

use planwright_core::text::SourceText;
use planwright_run::config::units::{duration, duration_text, size, size_text};
use planwright_run::config::{ConfigLevel, ConfigSource, Configuration, SettingOrigin, SourceKind, assemble};

use crate::findings;
use crate::input::{parts, text};

pub(crate) fn hold(bytes: &[u8]) {
    let [project, user, variable] = parts(bytes).map(text);
    let sources = vec![source(ConfigLevel::User, &user), source(ConfigLevel::Project, &project)];
    let variables: Vec<(String, String)> = variable
        .lines()
        .filter_map(|line| line.split_once('='))
        .map(|(name, value)| (format!("PLANWRIGHT_{name}"), value.to_owned()))
        .collect();
    let found = assemble(sources, &variables, &[]);
    check(&found);
    for word in variable.split_whitespace() {
        if let Some(found) = duration(word) {
            assert_eq!(duration(&duration_text(found)), Some(found), "{word}");
        }
        if let Some(found) = size(word) {
            assert_eq!(size(&size_text(found)), Some(found), "{word}");
        }
    }
}

fn source(level: ConfigLevel, text: &str) -> ConfigSource {
    let path = PathBuf::from(match level {
        ConfigLevel::User => "config.toml",
        ConfigLevel::Project => "planwright.toml",
    });
    ConfigSource {
        kind: SourceKind::File { level, path },
        text: SourceText::new(text),
        findings: Vec::new(),
    }
}

fn check(found: &Configuration) {
    let mut n_bytes = 0;
    for source in &found.sources {
        findings::check(&source.text, &source.findings);
        n_bytes += source.text.len();
    }
    let in_effect: usize = found
        .effective
        .iter()
        .map(|setting| setting.path.len() + setting.value.len())
        .sum();
    assert!(
        in_effect <= 64 * n_bytes + 64 * 1024,
        "{in_effect} bytes of settings out of {n_bytes}"
    );
    for setting in &found.effective {
        assert!(!setting.value.contains('\u{1b}'), "{setting:?}");
    }
    for agent in found.config.own_agents() {
        assert!(agent.program().len() <= n_bytes + 64);
        assert!(!matches!(agent.origin, SettingOrigin::Preset(_)));
    }
    if let Some(only) = found.config.only_agent() {
        assert!(found.config.agents.contains_key(only));
    }
}
