//! A configuration as one text, which a run keeps for its whole life.

use std::collections::BTreeMap;
use std::path::PathBuf;

use planwright_core::text::SourceText;

use super::{ConfigFlag, ConfigLevel, ConfigSource, Configuration, SettingOrigin, SourceKind, assemble};

/// The prefix of the paths of criteria rules, before their number.
const CRITERIA: &str = "verify.criteria[";

impl Configuration {
    /// Returns every setting as the text of a configuration file: the values of files, variables and flags.
    pub fn frozen(&self) -> String {
        let mut text = String::new();
        let mut criteria: BTreeMap<usize, String> = BTreeMap::new();
        let set = self.effective.iter();
        for row in set.filter(|row| !matches!(row.origin, SettingOrigin::Default | SettingOrigin::Preset(_))) {
            match criterion(&row.path) {
                Some((number, name)) => {
                    let rule = criteria.entry(number).or_default();
                    rule.push_str(&format!("{name} = {}\n", row.value));
                }
                None => text.push_str(&format!("{} = {}\n", row.path, row.value)),
            }
        }
        for rule in criteria.values() {
            text.push_str(&format!("[[verify.criteria]]\n{rule}"));
        }
        text
    }

    pub fn differing(&self, other: &Configuration) -> Vec<String> {
        let rows = |configuration: &Configuration| -> BTreeMap<String, String> {
            let rows = configuration.effective.iter();
            rows.map(|row| (row.path.clone(), row.value.clone())).collect()
        };
        let (own, others) = (rows(self), rows(other));
        let mut paths: Vec<String> = own.keys().chain(others.keys()).cloned().collect();
        paths.sort();
        paths.dedup();
        paths.retain(|path| own.get(path) != others.get(path));
        paths
    }
}

/// Returns the number of a rule for criteria and the name of its setting.
fn criterion(path: &str) -> Option<(usize, &str)> {
    let (number, name) = path.strip_prefix(CRITERIA)?.split_once("].")?;
    Some((number.parse().ok()?, name))
}

/// Reads the text of [`Configuration::frozen`]. Flags override it.
pub fn thaw(text: &str, flags: &[ConfigFlag]) -> Configuration {
    let source = ConfigSource {
        kind: SourceKind::File {
            level: ConfigLevel::User,
            path: PathBuf::from("the configuration of the run"),
        },
        text: SourceText::new(text),
        findings: Vec::new(),
    };
    assemble(vec![source], &[], flags)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frozen_configuration_reads_back_unchanged() {
        let text = "[agents.mine]\ncommand = [\"a b\", \"{prompt_file}\"]\nenv = [\"X_*\"]\n[agents.mine.set]\n\"A_B\" = \"q\\\"\\n\"\n\
                    [run]\nagent = \"mine\"\nslots = 3\nsetup = [\"x | y\", [\"z\"]]\nfence = \"strict\"\nfence_ports = [5432, 80]\n\
                    fence_write = [\"~/.cache/mine\"]\n[run.types]\n\"odd name\" = \"mine\"\n\
                    [run.budget]\ncost = 1.5\n[verify]\nevery = [[\"t\"], { run = \"a b\", fence = \"off\" }]\nallow_plan_commands = true\n\
                    [[verify.criteria]]\ntext = \"one\"\nrun = [\"a\"]\n[[verify.criteria]]\npattern = \"t*\"\nrun = [\"b\"]\ntimeout = \"5s\"\n";
        let original = thaw(text, &[]);
        assert!(!original.has_errors(), "{:?}", original.sources);
        let again = thaw(&original.frozen(), &[]);
        assert!(!again.has_errors(), "{:?}\n{}", again.sources, original.frozen());
        assert_eq!(again.differing(&original), [""; 0], "{}", original.frozen());
        assert_eq!(again.config.verify.criteria, original.config.verify.criteria);
        assert_eq!(again.frozen(), original.frozen());
        assert_eq!(
            thaw("run.slots = 4\n", &[])
                .differing(&thaw("run.agent = \"claude\"\n", &[]))
                .first()
                .map(String::as_str),
            Some("agents.claude.command")
        );
    }
}
