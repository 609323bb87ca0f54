//! The differences between two texts, found in linear time. Texts with little in common become one hunk.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

/// One place where two texts differ.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hunk {
    /// Its offset in the text before.
    pub at: usize,
    /// The text before.
    pub old: String,
    /// The text after.
    pub new: String,
}

/// Texts count as equal again after this many equal bytes: more than a key with a common value and its white space.
const ANCHOR: usize = 32;

/// The windows in which the next equal bytes are searched, from the first to the last.
const WINDOWS: [usize; 6] = [64, 256, 1_024, 4_096, 16_384, LAST_WINDOW];
const LAST_WINDOW: usize = 65_536;

/// Returns where two texts differ, in order.
pub(crate) fn hunks(old: &str, new: &str) -> Vec<Hunk> {
    let mut at = Cursor::default();
    at.skip_common(old, new);
    let (old, new) = without_common_end(at, old, new);
    let mut hunks = Vec::new();
    while at.old < old.len() || at.new < new.len() {
        let next = in_step_again(at, old.as_bytes(), new.as_bytes());
        hunks.push(Hunk {
            at: at.old,
            old: old.get(at.old..next.old).unwrap_or_default().to_owned(),
            new: new.get(at.new..next.new).unwrap_or_default().to_owned(),
        });
        at = next;
        at.skip_common(old, new);
    }
    hunks
}

/// Returns the text after; none if the hunks do not apply.
pub(crate) fn apply(old: &str, hunks: &[Hunk]) -> Option<String> {
    splice(old, hunks.iter().map(|hunk| (hunk.at, &*hunk.old, &*hunk.new)))
}

/// Returns the text before; none if the hunks do not apply.
pub(crate) fn revert(new: &str, hunks: &[Hunk]) -> Option<String> {
    let mut shift = 0_isize;
    let shifted = hunks.iter().map(|hunk| {
        let at = hunk.at.wrapping_add_signed(shift);
        shift += hunk.new.len() as isize - hunk.old.len() as isize;
        (at, &*hunk.new, &*hunk.old)
    });
    splice(new, shifted)
}

/// How many bytes on each side of a hunk are stored, and how few are enough to find it again if they are unique.
const SURROUNDING: usize = 64;
const ENOUGH: [[usize; 2]; 5] = [[64, 64], [32, 32], [64, 12], [12, 64], [16, 16]];

/// The surroundings of more hunks than this are not stored.
const MOST_SURROUNDED: usize = 200;

/// Returns the text before and after each hunk in the new text.
pub(crate) fn surroundings(new: &str, hunks: &[Hunk]) -> Vec<[String; 2]> {
    if hunks.len() > MOST_SURROUNDED {
        return Vec::new();
    }
    let mut shift = 0_isize;
    let places = hunks.iter().map(|hunk| {
        let at = hunk.at.wrapping_add_signed(shift);
        shift += hunk.new.len() as isize - hunk.old.len() as isize;
        let before = new.get(..at).unwrap_or_default();
        let behind = new.get(at + hunk.new.len()..).unwrap_or_default();
        [
            end_of(before, SURROUNDING).to_owned(),
            start_of(behind, SURROUNDING).to_owned(),
        ]
    });
    places.collect()
}

/// Returns a text without the hunks, wherever they are in it now; none if one is not found in exactly one place, in order.
pub(crate) fn revert_around(text: &str, hunks: &[Hunk], around: &[[String; 2]]) -> Option<String> {
    if hunks.is_empty() || hunks.len() != around.len() {
        return None;
    }
    let mut pieces = Vec::with_capacity(hunks.len());
    for (hunk, [before, behind]) in hunks.iter().zip(around) {
        let at = ENOUGH.iter().find_map(|&[n_before, n_behind]| {
            let (before, behind) = (end_of(before, n_before), start_of(behind, n_behind));
            let wanted = format!("{before}{}{behind}", hunk.new);
            let mut places = text.match_indices(&wanted).map(|(at, _)| at + before.len());
            let at = places.next()?;
            places.next().is_none().then_some(at)
        })?;
        pieces.push((at, &*hunk.new, &*hunk.old));
    }
    splice(text, pieces.into_iter())
}

/// Returns the last bytes of a text, whole characters only.
fn end_of(text: &str, n_bytes: usize) -> &str {
    let from = (text.len().saturating_sub(n_bytes)..=text.len()).find(|&at| text.is_char_boundary(at));
    from.and_then(|from| text.get(from..)).unwrap_or_default()
}

/// Returns the first bytes of a text, whole characters only.
fn start_of(text: &str, n_bytes: usize) -> &str {
    let to = (0..=n_bytes.min(text.len()))
        .rev()
        .find(|&at| text.is_char_boundary(at));
    to.and_then(|to| text.get(..to)).unwrap_or_default()
}

/// Replaces pieces of a text; none if a piece is not the expected one.
fn splice<'a>(text: &str, pieces: impl Iterator<Item = (usize, &'a str, &'a str)>) -> Option<String> {
    let mut out = String::with_capacity(text.len());
    let mut done = 0;
    for (at, from, to) in pieces {
        out.push_str(text.get(done..at)?);
        text.get(at..)?.starts_with(from).then_some(())?;
        out.push_str(to);
        done = at + from.len();
    }
    out.push_str(text.get(done..)?);
    Some(out)
}

/// A place in each of the two texts, always between characters.
#[derive(Clone, Copy, Default)]
struct Cursor {
    old: usize,
    new: usize,
}

impl Cursor {
    fn skip_common(&mut self, old: &str, new: &str) {
        let (rest_old, rest_new) = (&old.as_bytes()[self.old..], &new.as_bytes()[self.new..]);
        let mut n_common = common_start(rest_old, rest_new);
        // Characters with the same first bytes can differ later: the difference starts with the character.
        while !old.is_char_boundary(self.old + n_common) {
            n_common -= 1;
        }
        self.old += n_common;
        self.new += n_common;
    }
}

fn common_start(a: &[u8], b: &[u8]) -> usize {
    const CHUNK: usize = 256;
    let n_chunks = a.chunks(CHUNK).zip(b.chunks(CHUNK)).take_while(|(a, b)| a == b);
    let n_equal: usize = n_chunks.map(|(a, _)| a.len()).sum();
    let rest = a[n_equal..].iter().zip(&b[n_equal..]).take_while(|(a, b)| a == b);
    n_equal + rest.count()
}

fn common_end(a: &[u8], b: &[u8]) -> usize {
    const CHUNK: usize = 256;
    let n_chunks = a.rchunks(CHUNK).zip(b.rchunks(CHUNK)).take_while(|(a, b)| a == b);
    let n_equal: usize = n_chunks.map(|(a, _)| a.len()).sum();
    let (a, b) = (&a[..a.len() - n_equal], &b[..b.len() - n_equal]);
    let rest = a.iter().rev().zip(b.iter().rev()).take_while(|(a, b)| a == b);
    n_equal + rest.count()
}

/// Returns the texts without their common end.
fn without_common_end<'a>(at: Cursor, old: &'a str, new: &'a str) -> (&'a str, &'a str) {
    let mut n_common = common_end(&old.as_bytes()[at.old..], &new.as_bytes()[at.new..]);
    while !old.is_char_boundary(old.len() - n_common) {
        n_common -= 1;
    }
    (&old[..old.len() - n_common], &new[..new.len() - n_common])
}

/// Returns the nearest place after a difference where the texts are equal again, or their ends. The windows grow, so that a small
/// difference costs little and the whole is linear.
fn in_step_again(at: Cursor, old: &[u8], new: &[u8]) -> Cursor {
    let (rest_old, rest_new) = (&old[at.old..], &new[at.new..]);
    for window in WINDOWS {
        let window_old = &rest_old[..window.min(rest_old.len())];
        let window_new = &rest_new[..window.min(rest_new.len())];
        let is_whole = window >= rest_old.len().max(rest_new.len());
        if let Some((ahead_old, ahead_new)) = common_anchor(window_old, window_new)
            // A distant match may be a coincidence: a larger window may show a nearer one.
            && (ahead_old + ahead_new <= window || is_whole || window == LAST_WINDOW)
        {
            return Cursor {
                old: at.old + ahead_old,
                new: at.new + ahead_new,
            };
        }
        if is_whole {
            break;
        }
    }
    Cursor {
        old: old.len(),
        new: new.len(),
    }
}

/// Returns the offsets of a common anchor in two texts: the one that skips the least.
fn common_anchor(old: &[u8], new: &[u8]) -> Option<(usize, usize)> {
    let mut places: HashMap<&[u8], usize> = HashMap::with_capacity(old.len());
    for (place, anchor) in old.windows(ANCHOR).enumerate() {
        places.entry(anchor).or_insert(place);
    }
    let mut nearest: Option<(usize, usize)> = None;
    for (in_new, anchor) in new.windows(ANCHOR).enumerate() {
        let left_out = nearest.map_or(usize::MAX, |(in_old, in_new)| in_old + in_new);
        if in_new >= left_out {
            break;
        }
        if let Some(&in_old) = places.get(anchor).filter(|&&in_old| in_old + in_new < left_out) {
            nearest = Some((in_old, in_new));
        }
    }
    let (in_old, in_new) = nearest?;
    // The anchor may start inside a character; the rest of that belongs to the difference.
    let n_inside = new.iter().skip(in_new).take_while(|&&byte| byte & 0xc0 == 0x80).count();
    Some((in_old + n_inside, in_new + n_inside))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(old: &str, new: &str) -> Vec<Hunk> {
        let found = hunks(old, new);
        assert_eq!(apply(old, &found).as_deref(), Some(new), "{found:?}");
        assert_eq!(revert(new, &found).as_deref(), Some(old), "{found:?}");
        found
    }

    #[test]
    fn equal_texts_have_no_hunks() {
        assert_eq!(check("", ""), []);
        assert_eq!(check("same", "same"), []);
    }

    #[test]
    fn a_change_is_taken_back_around_other_edits() {
        let old =
            "title: one thing\nfirst: the beginning of it all\nsecond: what follows é after that\nlast: the end\n";
        let new = old.replace("what follows", "whatever follows");
        let found = hunks(old, &new);
        let around = surroundings(&new, &found);
        for (from, to) in [
            ("one thing", "another"),
            ("the end", "THE END\nmore: x"),
            ("title", "a: b\ntitle"),
        ] {
            let edited = new.replace(from, to);
            let expected = old.replace(from, to);
            assert_eq!(revert_around(&edited, &found, &around), Some(expected), "{from}");
        }
        assert_eq!(
            revert_around(&new.replace("whatever", "nothing"), &found, &around),
            None
        );
        // Two equal places are ambiguous.
        assert_eq!(revert_around(&format!("{new}{new}"), &found, &around), None);
        assert_eq!(revert_around(&new, &found, &[]), None);
    }

    #[test]
    fn two_places_far_apart_are_two_small_hunks() {
        let tasks: String = (0..2_000)
            .map(|n| format!("{{\"id\": \"t{n}\", \"status\": \"pending\"}},"))
            .collect();
        let old = format!("{{\"updated\": \"2026-01-01\", \"tasks\": [{tasks}]}}");
        let new = old.replacen("2026-01-01", "2026-02-02T10:00:00Z", 1).replacen(
            "\"t1500\", \"status\": \"pending\"",
            "\"t1500\", \"status\": \"done\"",
            1,
        );
        let found = check(&old, &new);
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found.iter().all(|hunk| hunk.old.len() < 40 && hunk.new.len() < 40));
    }

    #[test]
    fn additions_to_many_similar_tasks_give_small_hunks() {
        let task = |n: usize, added: &str| {
            format!(
                "  - index: {n}\n    description: \"Change module {n}\"\n    agent: developer\n{added}    criteria:\n      - tests\n"
            )
        };
        let added = "    executedBy: developer\n    startedAt: \"2026-11-15T12:00:00Z\"\n    endedAt: \"2026-11-15T12:00:01Z\"\n";
        let old: String = (0..500).map(|n| task(n, "")).collect();
        let new: String = (0..500).map(|n| task(n, added)).collect();
        let found = check(&old, &new);
        let n_bytes: usize = found.iter().map(|hunk| hunk.old.len() + hunk.new.len()).sum();
        assert_eq!((found.len(), n_bytes), (500, 500 * added.len()));
    }

    #[test]
    fn characters_are_never_cut() {
        for (old, new) in [
            ("é", "è"),
            ("aé", "aè"),
            ("éa", "èa"),
            ("😀😀", "😀😁😀"),
            ("日本語日本語日本語日本語", "日本語日本日本語日本語日本語"),
            ("x", ""),
            ("", "日"),
        ] {
            check(old, new);
        }
    }

    #[test]
    fn hunks_of_any_two_texts_apply_in_both_directions() {
        let mut seed = 7_u64;
        let mut random = |below: usize| {
            seed = seed
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (seed >> 33) as usize % below
        };
        let letters = [
            "a",
            "b",
            "é",
            "日",
            "😀",
            "\n",
            "\"",
            "abcabcabcabcabcabcabc",
            "status: pending",
        ];
        for _ in 0..400 {
            let old: Vec<&str> = (0..random(120)).map(|_| letters[random(letters.len())]).collect();
            let mut new = old.clone();
            for _ in 0..random(6) {
                let at = random(new.len() + 1);
                if random(2) == 0 || at == new.len() {
                    new.insert(at, letters[random(letters.len())]);
                } else {
                    new.remove(at);
                }
            }
            check(&old.concat(), &new.concat());
        }
    }

    #[test]
    fn texts_with_nothing_in_common_are_one_hunk() {
        let (old, new) = ("ab".repeat(200_000), "xy".repeat(150_000));
        assert_eq!(check(&old, &new).len(), 1);
    }
}
