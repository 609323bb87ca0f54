//! What holds, setting by setting, with where it comes from. For people and for `planwright config`.

use planwright_core::text::LineIndex;

use super::assemble::{Assembly, Place, parts};
use super::keys::{self, KEYS, Key, Kind};
use super::read::{Typed, quoted};
use super::{Config, Effective, Origin};

impl Assembly {
    /// Returns what holds, setting by setting.
    pub(super) fn effective(&self, config: &Config, indices: &[LineIndex<'_>]) -> Vec<Effective> {
        let mut rows: Vec<(usize, String, usize, Effective)> = Vec::new();
        let rank = |key: &Key| {
            KEYS.iter()
                .position(|other| other.path == key.path)
                .unwrap_or(KEYS.len())
        };
        let table = |path: &str| {
            ["agents", "run", "verify", "notify"]
                .iter()
                .position(|name| path.starts_with(name))
        };
        for (source_ix, setting) in self.settings.values() {
            let place = Place {
                source_ix: *source_ix,
                span: setting.span,
            };
            let group = match setting.parts.as_slice() {
                [agents, name, ..] if agents == "agents" => name.clone(),
                [_, criteria, ix, ..] if criteria == "criteria" => ix.clone(),
                _ => String::new(),
            };
            let row = Effective {
                path: path_text(&setting.parts),
                value: setting.value.to_string(),
                origin: self.origin(place, indices),
            };
            rows.push((table(setting.key.path).unwrap_or(4), group, rank(setting.key), row));
        }
        for key in KEYS {
            let (Some(default), false) = (key.default, self.settings.contains_key(&parts(key.path))) else {
                continue;
            };
            let value = match key.kind {
                Kind::Flag | Kind::Count { .. } | Kind::Money => default.to_owned(),
                _ => quoted(default),
            };
            let row = Effective {
                path: key.path.to_owned(),
                value,
                origin: Origin::Default,
            };
            rows.push((table(key.path).unwrap_or(4), String::new(), rank(key), row));
        }
        self.of_presets(config, |name, key_path, row| {
            let key_rank = keys::find(key_path).map_or(KEYS.len(), rank);
            rows.push((0, name, key_rank, row));
        });
        // Criteria come after the rest of their table, whatever their number.
        rows.sort_by(|a, b| {
            let order = |(table, group, rank, row): &(usize, String, usize, Effective)| {
                (*table, group.clone(), *rank, row.path.clone())
            };
            order(a).cmp(&order(b))
        });
        rows.into_iter().map(|(.., row)| row).collect()
    }

    /// Tells what agents have from their presets, of those agents that are configured or asked for.
    fn of_presets(&self, config: &Config, mut tell: impl FnMut(String, &'static str, Effective)) {
        let is_used =
            |name: &str| config.run.agent.as_deref() == Some(name) || config.run.types.values().any(|n| n == name);
        for agent in config.agents.values() {
            let Some(preset) = agent.preset else { continue };
            let is_configured = !matches!(agent.origin, Origin::Preset(_));
            if !is_configured && !is_used(&agent.name) {
                continue;
            }
            let is_set = |field: &str| {
                self.settings
                    .contains_key(&["agents", &agent.name, field].map(str::to_owned)[..])
            };
            let fields = [
                ("agents.NAME.command", "command", Typed::Words(agent.command.clone())),
                (
                    "agents.NAME.prompt",
                    "prompt",
                    Typed::Text(agent.prompt.as_str().to_owned()),
                ),
                (
                    "agents.NAME.output",
                    "output",
                    Typed::Text(agent.output.as_str().to_owned()),
                ),
            ];
            for (key_path, field, value) in fields {
                if !is_set(field) {
                    let row = Effective {
                        path: path_text(&["agents", &agent.name, field].map(str::to_owned)),
                        value: value.to_string(),
                        origin: Origin::Preset(preset),
                    };
                    tell(agent.name.clone(), key_path, row);
                }
            }
        }
    }
}

/// Returns a path as it would be written; numbers of criteria count from 1, as people do.
fn path_text(parts: &[String]) -> String {
    let is_bare = |part: &str| {
        !part.is_empty()
            && part
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte))
    };
    let mut text = String::new();
    for (ix, part) in parts.iter().enumerate() {
        match part.parse::<usize>() {
            Ok(n) if ix == 2 && parts[1] == "criteria" => {
                text.push_str(&format!("[{}]", n + 1));
                continue;
            }
            _ => {}
        }
        if ix > 0 {
            text.push('.');
        }
        text.push_str(&if is_bare(part) { part.clone() } else { quoted(part) });
    }
    text
}
