//! The effective value and the origin of each setting, for `planwright config`.

use planwright_core::text::LineIndex;

use super::agent::Agent;
use super::assemble::{Assembly, SettingLocation, parts};
use super::keys::{self, ConfigKey, KEYS, SettingType};
use super::presets::{Preset, preset};
use super::setting::{SettingValue, WrittenSetting, quoted};
use super::{Config, EffectiveSetting, SettingOrigin};

/// A setting and its sort key: by table, by agent or criterion, by key, by path.
struct SortedSetting {
    table_rank: usize,
    group: String,
    key_rank: usize,
    effective: EffectiveSetting,
}

impl SortedSetting {
    fn new(key: &ConfigKey, group: &str, effective: EffectiveSetting) -> Self {
        let rank = |is_meant: &dyn Fn(&ConfigKey) -> bool| KEYS.iter().position(is_meant).unwrap_or(KEYS.len());
        SortedSetting {
            table_rank: rank(&|other| other.table() == key.table()),
            group: group.to_owned(),
            key_rank: rank(&|other| other.path == key.path),
            effective,
        }
    }

    fn order(&self) -> (usize, &str, usize, &str) {
        (self.table_rank, &self.group, self.key_rank, &self.effective.path)
    }
}

impl Assembly {
    pub(super) fn effective(&self, config: &Config, indices: &[LineIndex<'_>]) -> Vec<EffectiveSetting> {
        let settings = self.settings.values().map(|(source_ix, setting)| {
            let place = SettingLocation {
                source_ix: *source_ix,
                span: setting.span,
            };
            of_setting(setting, config, self.origin(place, indices))
        });
        let defaults = KEYS.iter().filter(|key| !self.settings.contains_key(&parts(key.path)));
        let mut rows: Vec<SortedSetting> = settings.chain(defaults.filter_map(of_default)).collect();
        for agent in config.agents.values() {
            let is_named = |name: &String| *name == agent.name;
            let is_used = config.run.agent.iter().chain(config.run.types.values()).any(is_named);
            let is_configured = !matches!(agent.origin, SettingOrigin::Preset(_));
            if let Some(preset) = agent.preset.and_then(preset).filter(|_| is_configured || is_used) {
                self.of_preset(agent, preset, &mut rows);
            }
        }
        rows.sort_by(|a, b| a.order().cmp(&b.order()));
        rows.into_iter().map(|row| row.effective).collect()
    }

    fn of_preset(&self, agent: &Agent, preset: &Preset, rows: &mut Vec<SortedSetting>) {
        let owned = |words: &[&str]| SettingValue::Words(words.iter().map(|&word| word.to_owned()).collect());
        let mut fields = vec![
            ("command", owned(&[preset.command, preset.last].concat())),
            ("prompt", SettingValue::Text(agent.prompt.as_str().to_owned())),
            ("output", SettingValue::Text(preset.output.as_str().to_owned())),
            ("env", owned(preset.env)),
        ];
        fields.extend(preset.retries.map(|knob| ("retries", SettingValue::Count(knob.usual))));
        let path = |field: &[&str]| {
            let words = ["agents", &agent.name].into_iter().chain(field.iter().copied());
            words.map(str::to_owned).collect::<Vec<_>>()
        };
        let mut add = |key_path: &str, parts: Vec<String>, value: SettingValue| {
            if let (Some(key), false) = (keys::find(key_path), self.settings.contains_key(&parts)) {
                let effective = EffectiveSetting {
                    path: path_text(&parts),
                    value: value.to_string(),
                    origin: SettingOrigin::Preset(preset.name),
                };
                rows.push(SortedSetting::new(key, &agent.name, effective));
            }
        };
        // A command of the user's own decides how the prompt is taken.
        let has_command = self.settings.contains_key(&path(&["command"]));
        for (field, value) in fields
            .into_iter()
            .filter(|(field, _)| !has_command || *field != "prompt")
        {
            add(&format!("agents.NAME.{field}"), path(&[field]), value);
        }
        for &(name, value) in preset.set {
            add(
                "agents.NAME.set.VARIABLE",
                path(&["set", name]),
                SettingValue::Text(value.to_owned()),
            );
        }
    }
}

fn of_setting(setting: &WrittenSetting, config: &Config, origin: SettingOrigin) -> SortedSetting {
    let (group, value) = match setting.parts.as_slice() {
        // Variables that a user adds to a preset's are shown with them.
        [agents, name, env] if agents == "agents" && env == "env" => {
            let all = config
                .agents
                .get(name)
                .map(|agent| SettingValue::Words(agent.env.clone()));
            (name.as_str(), all.unwrap_or_else(|| setting.value.clone()))
        }
        [agents, name, ..] if agents == "agents" => (name.as_str(), setting.value.clone()),
        [_, criteria, ix, ..] if criteria == "criteria" => (ix.as_str(), setting.value.clone()),
        _ => ("", setting.value.clone()),
    };
    let effective = EffectiveSetting {
        path: path_text(&setting.parts),
        value: value.to_string(),
        origin,
    };
    SortedSetting::new(setting.key, group, effective)
}

fn of_default(key: &'static ConfigKey) -> Option<SortedSetting> {
    let default = key.default?;
    let effective = EffectiveSetting {
        path: key.path.to_owned(),
        value: match key.kind {
            SettingType::Flag | SettingType::Count { .. } | SettingType::Money => default.to_owned(),
            _ => quoted(default),
        },
        origin: SettingOrigin::Default,
    };
    Some(SortedSetting::new(key, "", effective))
}

/// Returns a path as a user writes it; criteria are numbered from 1.
fn path_text(parts: &[String]) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
    let mut text = String::new();
    for (ix, part) in parts.iter().enumerate() {
        let number = part.parse::<usize>().ok().filter(|_| ix == 2 && parts[1] == "criteria");
        if let Some(number) = number {
            text.push_str(&format!("[{}]", number + 1));
            continue;
        }
        if ix > 0 {
            text.push('.');
        }
        match !part.is_empty() && part.bytes().all(is_plain) {
            true => text.push_str(part),
            false => text.push_str(&quoted(part)),
        }
    }
    text
}
