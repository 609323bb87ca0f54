//! Judges the output and the files of tools: cycles found, paths named, lines changed. Runs nothing, reads no file.

/// How a tool writes the name of a task.
pub(super) type Spelling = fn(usize) -> String;

/// Returns the lines of an answer that the answer to a sound graph does not have: the report of a defect.
pub(super) fn new_lines<'a>(answer: &'a str, sound: &str) -> Vec<&'a str> {
    let known: std::collections::HashSet<&str> = sound.lines().map(str::trim).collect();
    let is_new = |line: &&str| !line.trim().is_empty() && !known.contains(line.trim());
    answer.lines().filter(is_new).collect()
}

/// How much of a cycle an answer names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CycleNaming {
    /// Its tasks in their order, in one line.
    Path,
    /// All of its tasks, but not their order.
    Members,
    /// Some of its tasks.
    Some,
    Nothing,
}

/// Returns whether lines report a cycle, and how much of it they name.
pub(super) fn cycle(lines: &[&str], path: &[usize], spelling: Spelling) -> (bool, CycleNaming) {
    let is_found = lines.iter().any(|line| {
        let line = line.to_lowercase();
        ["cycl", "circular", "circle"].iter().any(|word| line.contains(word))
    });
    let in_lines: Vec<Vec<usize>> = lines.iter().map(|line| tasks_in(line, path, spelling)).collect();
    let is_named = |number: &usize| in_lines.iter().any(|tasks| tasks.contains(number));
    let named = match path.iter().filter(|number| is_named(number)).count() {
        0 => CycleNaming::Nothing,
        _ if in_lines.iter().any(|tasks| holds_path(tasks, path)) => CycleNaming::Path,
        n_named if n_named == path.len() => CycleNaming::Members,
        _ => CycleNaming::Some,
    };
    (is_found, named)
}

/// Returns whether lines name the missing task, and whether one line also names its dependent.
pub(super) fn dangling(lines: &[&str], who: usize, missing: usize, spelling: Spelling) -> (bool, bool) {
    let names = |number: usize| {
        let found = lines.iter().map(|line| tasks_in(line, &[number], spelling));
        found.map(|tasks| !tasks.is_empty()).collect::<Vec<bool>>()
    };
    let (who, missing) = (names(who), names(missing));
    let both = who.iter().zip(&missing).any(|(who, missing)| *who && *missing);
    (missing.contains(&true), both)
}

/// Returns the first of some tasks that a text names.
pub(super) fn first_named(text: &str, numbers: &[usize], spelling: Spelling) -> Option<usize> {
    text.lines()
        .find_map(|line| tasks_in(line, numbers, spelling).first().copied())
}

/// Returns whether tasks are a cycle's path, from any task, in either direction.
pub(super) fn is_turn_of(tasks: &[usize], path: &[usize]) -> bool {
    let is_turn = |path: &[usize]| {
        (0..path.len()).any(|start| {
            let turned = path.iter().cycle().skip(start).take(path.len());
            turned.eq(tasks)
        })
    };
    let reversed: Vec<usize> = path.iter().rev().copied().collect();
    is_turn(path) || is_turn(&reversed)
}

fn holds_path(tasks: &[usize], path: &[usize]) -> bool {
    tasks.windows(path.len()).any(|tasks| is_turn_of(tasks, path))
}

/// Returns which of some tasks a line names, in its order.
fn tasks_in(line: &str, numbers: &[usize], spelling: Spelling) -> Vec<usize> {
    let is_apart = |c: char| !c.is_alphanumeric() && c != '-' && c != '_';
    // An arrow may touch the names next to it.
    line.split(is_apart)
        .map(|word| word.trim_matches('-'))
        .filter_map(|word| {
            let is_it = |number: &&usize| spelling(**number).eq_ignore_ascii_case(word);
            numbers.iter().find(is_it).copied()
        })
        .collect()
}

/// The number of changed lines of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LineChanges {
    /// Lines of the old text that are missing or different.
    pub(super) n_gone: usize,
    /// Lines of the new text that are added or different.
    pub(super) n_new: usize,
    /// New lines with a date: a tool's own record of the time.
    pub(super) n_dated: usize,
}

/// Compares two texts by their longest common sequence of lines.
pub(super) fn line_changes(before: &str, after: &str) -> LineChanges {
    let (mut before, mut after): (Vec<&str>, Vec<&str>) = (before.lines().collect(), after.lines().collect());
    let n_start = before
        .iter()
        .zip(&after)
        .take_while(|(one, other)| one == other)
        .count();
    before.drain(..n_start);
    after.drain(..n_start);
    while before.last().is_some_and(|line| after.last() == Some(line)) {
        before.pop();
        after.pop();
    }
    let kept = kept_lines(&before, &after);
    let new = after.iter().enumerate().filter(|(place, _)| !kept.contains(place));
    LineChanges {
        n_gone: before.len() - kept.len(),
        n_new: after.len() - kept.len(),
        n_dated: new.filter(|(_, line)| holds_date(line)).count(),
    }
}

/// Returns the positions in `after` of a longest common sequence of lines.
fn kept_lines(before: &[&str], after: &[&str]) -> std::collections::HashSet<usize> {
    let width = after.len() + 1;
    // The number of common lines after a pair of positions; the last row and column are the ends.
    let mut shared = vec![0_usize; (before.len() + 1) * width];
    let at = |shared: &[usize], i: usize, j: usize| shared.get(i * width + j).copied().unwrap_or(0);
    for (i, one) in before.iter().enumerate().rev() {
        for (j, other) in after.iter().enumerate().rev() {
            let best = if one == other {
                at(&shared, i + 1, j + 1) + 1
            } else {
                at(&shared, i + 1, j).max(at(&shared, i, j + 1))
            };
            if let Some(cell) = shared.get_mut(i * width + j) {
                *cell = best;
            }
        }
    }
    let mut kept = std::collections::HashSet::new();
    let (mut i, mut j) = (0, 0);
    while let (Some(one), Some(other)) = (before.get(i), after.get(j)) {
        if one == other {
            kept.insert(j);
            (i, j) = (i + 1, j + 1);
        } else if at(&shared, i + 1, j) >= at(&shared, i, j + 1) {
            i += 1;
        } else {
            j += 1;
        }
    }
    kept
}

/// Returns whether a line contains a date like `2026-03-22`.
fn holds_date(line: &str) -> bool {
    line.as_bytes().windows(10).any(|window| {
        window.iter().enumerate().all(|(place, byte)| match place {
            4 | 7 => *byte == b'-',
            _ => byte.is_ascii_digit(),
        })
    })
}

/// A part of a file that an edit elsewhere must not change.
#[derive(Clone, Copy, Debug)]
pub(super) enum EditMark {
    /// These texts, unchanged.
    Texts(&'static [&'static str]),
    /// These texts, in this order.
    Order(&'static [&'static str]),
    /// The line break at the end.
    End,
}

impl EditMark {
    /// Returns whether a text still has it.
    pub(super) fn is_in(self, text: &str) -> bool {
        match self {
            EditMark::Texts(marks) => marks.iter().all(|mark| text.contains(mark)),
            EditMark::Order(marks) => marks
                .iter()
                .try_fold(text, |rest, mark| rest.split_once(mark).map(|(_, rest)| rest))
                .is_some(),
            EditMark::End => text.ends_with('\n'),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(number: usize) -> String {
        format!("t{number}")
    }

    fn upper(number: usize) -> String {
        format!("TASK-{number}")
    }

    const PATH: [usize; 5] = [81, 50, 12, 99, 3];

    #[track_caller]
    fn check(answer: &str, spelling: Spelling, expected: (bool, CycleNaming)) {
        let lines: Vec<&str> = answer.lines().collect();
        assert_eq!(cycle(&lines, &PATH, spelling), expected, "{answer}");
    }

    #[test]
    fn a_path_may_begin_anywhere_and_go_either_way() {
        check(
            "cycle: t81 -> t50 -> t12 -> t99 -> t3 -> t81",
            named,
            (true, CycleNaming::Path),
        );
        check(
            "error: circular: t99→t12→t50→t81→t3→t99",
            named,
            (true, CycleNaming::Path),
        );
        check(
            "cycles:\n  - TASK-3 -> TASK-81 -> task-50 -> TASK-12 -> TASK-99",
            upper,
            (true, CycleNaming::Path),
        );
    }

    #[test]
    fn members_without_their_order_are_no_path() {
        check("cycle of t3, t12, t50, t81, t99", named, (true, CycleNaming::Members));
        // One line per member names the tasks, not their order.
        check(
            "circular: t81\ncircular: t50\ncircular: t12\ncircular: t99\ncircular: t3",
            named,
            (true, CycleNaming::Members),
        );
    }

    #[test]
    fn part_of_a_cycle_is_not_the_cycle() {
        check(
            "Circular t50 <- t12 dependency dropped.",
            named,
            (true, CycleNaming::Some),
        );
        check("there is a cycle", named, (true, CycleNaming::Nothing));
        check("the graph is valid", named, (false, CycleNaming::Nothing));
        // A name inside a longer one is another name.
        check("cycle: t811 -> t500 -> xt12", named, (true, CycleNaming::Nothing));
    }

    #[test]
    fn messages_about_sound_graphs_do_not_count() {
        let sound = "No duplicates or cycles found.\nchecked";
        assert_eq!(
            new_lines("No duplicates or cycles found.\nchecked\n", sound),
            Vec::<&str>::new()
        );
        assert_eq!(new_lines("a cycle\n  checked\n\n", sound), ["a cycle"]);
    }

    #[test]
    fn a_dangling_reference_has_two_ends() {
        let both = ["field: step t7 depends on non-existent step t1100"];
        assert_eq!(dangling(&both, 7, 1_100, named), (true, true));
        assert_eq!(dangling(&["`t1100` is unknown"], 7, 1_100, named), (true, false));
        assert_eq!(dangling(&["t7 is bad"], 7, 1_100, named), (false, false));
        assert_eq!(dangling(&["t1100", "t7"], 7, 1_100, named), (true, false));
    }

    #[test]
    fn the_first_task_that_is_named_is_the_answer() {
        assert_eq!(first_named("next:\n  t12  then t3", &PATH, named), Some(12));
        assert_eq!(first_named("nothing to do", &PATH, named), None);
    }

    #[test]
    fn changed_lines_are_counted_on_both_sides() {
        let changes = |before, after| {
            let changes = line_changes(before, after);
            (changes.n_gone, changes.n_new, changes.n_dated)
        };
        assert_eq!(changes("a\nb\nc\n", "a\nb\nc\n"), (0, 0, 0));
        assert_eq!(changes("a\nstatus: x\nc\n", "a\nstatus: y\nc\n"), (1, 1, 0));
        assert_eq!(changes("a\nb\nc\nd\n", "b\nd\ne\n"), (2, 1, 0));
        assert_eq!(changes("a\nb\n", "a\nat: '2026-03-22 10:00'\nb\n"), (0, 1, 1));
        assert_eq!(changes("[1, 2]\n", "[\n  1,\n  2\n]\n"), (1, 4, 0));
        assert_eq!(changes("", "a\n"), (0, 1, 0));
    }

    #[test]
    fn marks_are_looked_for_letter_by_letter() {
        assert!(EditMark::Texts(&["1.50", "1e3"]).is_in("[1.50, 1e3]"));
        assert!(!EditMark::Texts(&["1.50", "1e3"]).is_in("[1.5, 1e3]"));
        assert!(EditMark::Order(&["x", "y"]).is_in("x y"));
        assert!(!EditMark::Order(&["x", "y"]).is_in("y x"));
        assert!(EditMark::End.is_in("a\n") && !EditMark::End.is_in("a"));
    }
}
