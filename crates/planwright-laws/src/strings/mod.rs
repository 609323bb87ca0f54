//! Law for any word in any field through any verb that writes: the field reads back as written, or the verb refuses the word.
//!
//! The expected content of a field comes from the same verb with a harmless word: wherever that word appears, the other word must
//! appear.

mod bases;
mod reading;
mod verbs;

use self::bases::BASES;
use self::reading::compare;
use self::verbs::VERBS;
use crate::input::{ByteChoices, parts, text};

/// A word that every field accepts. No text derived from it contains it, because such texts are in lower case.
const HARMLESS: &str = "QzWordQz";

/// Two choices, of the plan and of the verb, then those of the verb; the rest is the word.
pub(crate) fn hold(bytes: &[u8]) {
    let [choices, word] = parts(bytes);
    let word = text(word);
    let mut dice = ByteChoices::new(choices);
    let base = &BASES[dice.below(BASES.len())];
    let (_, verb) = VERBS[dice.below(VERBS.len())];
    let harmless = verb(base, HARMLESS, &mut dice.clone());
    match (harmless, verb(base, &word, &mut dice)) {
        (Ok(harmless), Ok(written)) => compare(&harmless, &written, [HARMLESS, &word]),
        (Err(_), Ok(written)) => drop(reading::read_again(&written)),
        (_, Err(why)) => assert!(!why.is_empty(), "refused without a reason"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A law about verbs that refuse everything would prove nothing.
    #[test]
    fn every_verb_writes_a_harmless_word_in_some_plan() {
        for (name, verb) in VERBS {
            let mut n_plans = 0;
            for base in BASES.iter() {
                let writes = |variant: u32| {
                    let choices = [1_u32, 2, 3]
                        .map(|n| {
                            (variant + n)
                                .wrapping_mul(0x9e37_79b1_u32.wrapping_mul(n))
                                .to_be_bytes()
                        })
                        .concat();
                    verb(base, HARMLESS, &mut ByteChoices::new(&choices))
                        .is_ok_and(|written| written.text.contains(HARMLESS))
                };
                let does = (0..128).any(writes);
                println!("{name} {} {does}", base.path);
                n_plans += usize::from(does);
            }
            let n_least = match *name {
                "migrate" => 1,
                "plan transition" => 3,
                "rename" => 3,
                _ => 7,
            };
            assert!(n_plans >= n_least, "{name} writes {n_plans} of {} plans", BASES.len());
        }
    }
}
