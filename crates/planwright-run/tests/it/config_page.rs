//! The configuration page matches the code: settings, presets, and valid examples.

use planwright_run::config::keys::{KEYS, SettingType};
use planwright_run::config::presets::PRESETS;
use planwright_run::config::{ConfigLevel, assemble};
use planwright_testkit::repository;

use crate::config::{sound, source};

/// Returns the keys of the page: the first cells of tables whose first column is called Key.
fn documented(page: &str) -> Vec<(String, String)> {
    let mut keys = Vec::new();
    let mut in_keys = false;
    for line in page.lines() {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        match cells.as_slice() {
            ["", "Key", _, "Default", ..] => in_keys = true,
            ["", key, _, default, ..] if in_keys => {
                if let Some(key) = key.strip_prefix('`').and_then(|key| key.strip_suffix('`')) {
                    keys.push((key.to_owned(), default.trim_matches('`').to_owned()));
                }
            }
            _ => in_keys = false,
        }
    }
    keys
}

#[test]
fn the_page_and_the_table_of_keys_agree() {
    let page = std::fs::read_to_string(repository().join("docs/configuration.md")).expect("the page is there");
    let documented = documented(&page);
    let coded: Vec<(String, String)> = KEYS
        .iter()
        .map(|key| {
            let default = match (key.default, key.path) {
                (Some(default), _) if matches!(key.kind, SettingType::Flag | SettingType::Count { .. }) => {
                    default.to_owned()
                }
                (Some(default), _) => format!("\"{default}\""),
                (None, _) => String::new(),
            };
            (key.path.to_owned(), default)
        })
        .collect();
    let names = |list: &[(String, String)]| list.iter().map(|(key, _)| key.clone()).collect::<Vec<_>>();
    assert_eq!(names(&documented), names(&coded));
    for ((key, page), (_, code)) in documented.iter().zip(&coded).filter(|(_, (_, code))| !code.is_empty()) {
        assert_eq!(page, code, "the default of {key}");
    }
    for key in KEYS.iter().filter(|key| key.has_variable) {
        assert!(
            ["run", "plan", "verify", "approval", "compat"].contains(&key.path.split('.').next().unwrap_or("")),
            "{}",
            key.path
        );
    }
}

#[test]
fn the_page_and_the_presets_agree() {
    let page = std::fs::read_to_string(repository().join("docs/configuration.md")).expect("the page is there");
    let row = |name: &str| {
        page.lines()
            .find(|line| line.starts_with(&format!("| `{name}` | `{name} ")))
    };
    for preset in PRESETS {
        let row = row(preset.name).unwrap_or_else(|| panic!("no row for {}", preset.name));
        let code = |items: Vec<String>| match items.as_slice() {
            [] => "–".to_owned(),
            items => items
                .iter()
                .map(|item| format!("`{item}`"))
                .collect::<Vec<_>>()
                .join(", "),
        };
        let knob = preset.retries.map(|knob| format!("{}={}", knob.variable, knob.usual));
        let set = preset
            .set
            .iter()
            .map(|(name, value)| format!("{name}={value}"))
            .chain(knob);
        let expected = format!(
            "| `{}` | `{}` | {} | `{}` | {} | {} |",
            preset.name,
            [preset.command, preset.last].concat().join(" "),
            preset.prompt.as_str(),
            preset.output.as_str(),
            code(preset.env.iter().map(|&name| name.to_owned()).collect()),
            code(set.collect())
        );
        assert_eq!(row, expected);
    }
}

#[test]
fn the_example_of_the_page_is_sound() {
    let page = std::fs::read_to_string(repository().join("docs/configuration.md")).expect("the page is there");
    let blocks: Vec<&str> = page
        .split("```toml\n")
        .skip(1)
        .filter_map(|rest| rest.split("```").next())
        .collect();
    assert!(!blocks.is_empty());
    for block in blocks {
        let level = if block.contains("allow_plan_commands") {
            ConfigLevel::User
        } else {
            ConfigLevel::Project
        };
        sound(&assemble(vec![source(level, block)], &[], &[]));
    }
}
