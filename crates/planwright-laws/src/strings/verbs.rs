//! Every verb that writes plans, as a function from a word to the written texts.

use planwright_core::change::rewrite::rewrite;
use planwright_core::change::tasks::{Edit, NewTask, edit};
use planwright_core::change::{ChangedText, Open, Problem, TaskRequest, transition, transition_plan, transitions};
use planwright_core::convert::rules::CHANGED;
use planwright_core::convert::{
    ConversionOptions, Embed, Loss, LossKind, MigrationOrder, PlanningRequest, convert, import, migrate, new_plan,
    single_plan,
};
use planwright_core::diagnostic::{Diagnostic, Safety, Severity};
use planwright_core::dialect::{Choice, DIALECTS, Dialect, FieldShape, Need};
use planwright_core::edit::{Owner, PlanRequest, VerbRequest};
use planwright_core::fix::fix;
use planwright_core::inspect::inspect;
use planwright_core::plan::{Field, PlanVerb, Verb};
use planwright_core::planning::draft::draft;
use planwright_core::planning::replan::new_version;
use planwright_core::text::SourceText;

use super::bases::PlanTemplate;
use super::reading::{TextOrigin, VerbOutput};
use crate::input::{ByteChoices, NOW, with_id_source};

/// The texts that a verb wrote, or its refusal.
pub(super) type VerbOutcome = Result<VerbOutput, String>;

/// A verb with a word for it.
pub(super) type Verbal = fn(&PlanTemplate, &str, &mut ByteChoices<'_>) -> VerbOutcome;

/// All verbs, by name.
pub(super) const VERBS: &[(&str, Verbal)] = &[
    ("transition", transitioned),
    ("batch", batched),
    ("set", set),
    ("add", added),
    ("rename", renamed),
    ("plan transition", plan_transitioned),
    ("new", fresh),
    ("import", imported),
    ("convert", converted),
    ("convert there and back", converted_back),
    ("migrate", migrated),
    ("plan", drafted),
    ("replan", replanned),
    ("fix", fixed),
];

/// The content of a plan's texts without the word.
const PLAIN: &str = "Some words";

fn refused(problem: Problem) -> String {
    assert!(!matches!(problem, Problem::Mismatch(_)), "{problem}");
    problem.to_string()
}

fn words_of(found: &[Diagnostic]) -> String {
    found
        .iter()
        .map(|found| found.message.as_str())
        .collect::<Vec<_>>()
        .join("; ")
}

fn in_place(base: &PlanTemplate, changed: ChangedText) -> VerbOutcome {
    Ok(VerbOutput {
        dialect: base.dialect().name(),
        path: base.path.to_owned(),
        text: changed.source.as_str().to_owned(),
        origin: TextOrigin::Edited,
        reports_changes: false,
    })
}

/// Returns a new text of a dialect, at its tool's path.
fn anew(dialect: &'static dyn Dialect, text: String, reports_changes: bool) -> VerbOutput {
    VerbOutput {
        dialect: dialect.name(),
        path: dialect.new_place(Some("plan-words"), "2026-05-11", "words"),
        text,
        origin: TextOrigin::Composed,
        reports_changes,
    }
}

fn n_tasks(open: &Open) -> usize {
    open.inspection.plan.as_ref().expect("a plan").plan.tasks().len()
}

/// Moves a task without a word, then with one.
fn transitioned(base: &PlanTemplate, word: &str, dice: &mut ByteChoices<'_>) -> VerbOutcome {
    base.with_choice(|choice| {
        let mut open = Open::new(&SourceText::new(base.text(PLAIN)), choice);
        let task_ix = dice.below(n_tasks(&open));
        for _ in 0..dice.below(3) {
            let request = VerbRequest {
                force: true,
                ..VerbRequest::new(Verb::ALL[dice.below(Verb::ALL.len())], NOW)
            };
            if let Ok(changed) = transition(&open, choice, task_ix, &request) {
                open = Open::new(&changed.source, choice);
            }
        }
        let files = [word.to_owned()];
        let request = VerbRequest {
            force: true,
            ..request(word, &files, dice)
        };
        let changed = transition(&open, choice, task_ix, &request).map_err(refused)?;
        in_place(base, changed)
    })
}

fn request<'a>(word: &'a str, files: &'a [String], dice: &mut ByteChoices<'_>) -> VerbRequest<'a> {
    let verb = Verb::ALL[dice.below(Verb::ALL.len())];
    VerbRequest {
        note: dice.flip().then_some(word),
        output: dice.flip().then_some(word),
        files: if dice.flip() { files } else { &[] },
        by: dice.flip().then_some(word),
        cascade: dice.flip(),
        keeps_notes: dice.flip(),
        work: None,
        user: None,
        ..VerbRequest::new(verb, NOW)
    }
}

/// Starts and ends a task in one change, like a run.
fn batched(base: &PlanTemplate, word: &str, dice: &mut ByteChoices<'_>) -> VerbOutcome {
    base.with_choice(|choice| {
        let open = Open::new(&SourceText::new(base.text(PLAIN)), choice);
        let task_ix = dice.below(n_tasks(&open));
        let files = [word.to_owned()];
        let start = VerbRequest {
            force: true,
            ..VerbRequest::new(Verb::Start, NOW)
        };
        let requests = [start, request(word, &files, dice), request(word, &files, dice)];
        let asked = requests.map(|request| TaskRequest { task_ix, request });
        let batch = transitions(&open, choice, &asked);
        for result in batch.results {
            if let Err(unmade) = result {
                refused(unmade.problem);
            }
        }
        in_place(base, batch.changed)
    })
}

fn set(base: &PlanTemplate, word: &str, dice: &mut ByteChoices<'_>) -> VerbOutcome {
    if word == "null" {
        return Err("`null` is the absence of a text".to_owned());
    }
    base.with_choice(|choice| {
        let open = Open::new(&SourceText::new(base.text(PLAIN)), choice);
        let plan = &open.inspection.plan.as_ref().expect("a plan").plan;
        let table = base.dialect().table_of(plan, Owner::Task(0)).ok_or("no table")?;
        let spec = &table.fields[dice.below(table.fields.len())];
        let value = match spec.shape {
            // Otherwise each line is a text of the list.
            FieldShape::TextList | FieldShape::TextListOrNull => serde_json::to_string(&[word]).expect("a list"),
            _ => word.to_owned(),
        };
        let set = Edit::Set {
            task_ix: dice.below(n_tasks(&open)),
            key: spec.name,
            value: Some(&value),
        };
        let changed = edit(&open, choice, &set, NOW).map_err(refused)?;
        in_place(base, changed)
    })
}

/// Adds a task with the word in its title and in all required texts.
fn added(base: &PlanTemplate, word: &str, dice: &mut ByteChoices<'_>) -> VerbOutcome {
    base.with_choice(|choice| {
        let open = Open::new(&SourceText::new(base.text(PLAIN)), choice);
        let plan = &open.inspection.plan.as_ref().expect("a plan").plan;
        let table = base.dialect().table_of(plan, Owner::Task(0)).ok_or("no table")?;
        let optional = dice.below(table.fields.len());
        let list = serde_json::to_string(&[word]).expect("a list");
        // If a task has no title, the title of a new one is its description.
        let has_title = table.fields.iter().any(|spec| spec.field == Field::Title);
        let is_title = |field: Field| match field {
            Field::Description => !has_title,
            field => matches!(field, Field::Title | Field::Goal),
        };
        let chosen = table.fields.iter().enumerate().filter(|(ix, spec)| {
            let is_given = is_title(spec.field) || is_kept_by_verbs(spec.field);
            let is_needed = spec.need == Need::Required || matches!(spec.field, Field::Criteria | Field::SourceUnit);
            !is_given && spec.field != Field::Priority && (is_needed || *ix == optional)
        });
        let fields: Vec<(&str, &str)> = chosen
            .map(|(_, spec)| match spec.shape {
                FieldShape::OneOf(words) => (spec.name, words[0]),
                _ if spec.field == Field::TaskKind => (spec.name, "edit"),
                FieldShape::TextList | FieldShape::TextListOrNull if spec.field == Field::Files => {
                    (spec.name, "src/new.rs")
                }
                FieldShape::TextList | FieldShape::TextListOrNull => (spec.name, list.as_str()),
                FieldShape::Integer(..) | FieldShape::Number => (spec.name, "1"),
                _ if spec.field == Field::Wave => (spec.name, "2"),
                _ => (spec.name, word),
            })
            .collect();
        let task = NewTask {
            id: dice.flip().then_some(word),
            title: word,
            fields: &fields,
            on: if dice.flip() { vec![0] } else { Vec::new() },
            at: dice.below(n_tasks(&open) + 1),
            beside: None,
            replaces: None,
            minted: "6b2f6f6e-6f0e-4f57-9d3c-000000000001",
        };
        let changed = edit(&open, choice, &Edit::Add(task), NOW).map_err(refused)?;
        in_place(base, changed)
    })
}

fn is_kept_by_verbs(field: Field) -> bool {
    matches!(
        field,
        Field::Id
            | Field::Status
            | Field::Passes
            | Field::Skipped
            | Field::Skip
            | Field::Position
            | Field::Dependencies
            | Field::RetryCount
            | Field::StartedAt
            | Field::CompletedAt
            | Field::History
            | Field::ExecutedBy
    )
}

/// Uses a word as an id, and as a reference to it, which is updated.
fn renamed(base: &PlanTemplate, word: &str, dice: &mut ByteChoices<'_>) -> VerbOutcome {
    base.with_choice(|choice| {
        let open = Open::new(&SourceText::new(base.text(PLAIN)), choice);
        let rename = Edit::Rename {
            task_ix: dice.below(n_tasks(&open)),
            to: word,
        };
        let changed = edit(&open, choice, &rename, NOW).map_err(refused)?;
        in_place(base, changed)
    })
}

fn plan_transitioned(base: &PlanTemplate, word: &str, dice: &mut ByteChoices<'_>) -> VerbOutcome {
    base.with_choice(|choice| {
        let open = Open::new(&SourceText::new(base.text(PLAIN)), choice);
        let request = PlanRequest {
            note: Some(word),
            by: dice.flip().then_some(word),
            ..PlanRequest::new(PlanVerb::ALL[dice.below(PlanVerb::ALL.len())], NOW)
        };
        let (changed, _) = transition_plan(&open, choice, &request).map_err(refused)?;
        in_place(base, changed)
    })
}

fn fresh(base: &PlanTemplate, word: &str, dice: &mut ByteChoices<'_>) -> VerbOutcome {
    let dialect = base.dialect();
    let said = [word.to_owned()];
    let made = match dice.flip() {
        true => with_id_source(|id_source| new_plan(dialect, word, id_source)),
        false => with_id_source(|id_source| single_plan(dialect, &wish(word, &said, dice), id_source)),
    };
    let (text, notes) = made.map_err(|refused| refused.to_string())?;
    Ok(anew(dialect, text, tells_changes(&notes)))
}

fn wish<'w>(word: &'w str, said: &'w [String], dice: &mut ByteChoices<'_>) -> PlanningRequest<'w> {
    PlanningRequest {
        goal: word,
        constraints: if dice.flip() { said } else { &[] },
        memories: if dice.flip() { said } else { &[] },
        by: dice.flip().then_some(word),
        ..PlanningRequest::default()
    }
}

fn imported(base: &PlanTemplate, word: &str, _dice: &mut ByteChoices<'_>) -> VerbOutcome {
    let source = SourceText::new(base.text(word));
    let made = with_id_source(|id_source| import(&source, base.dialect(), &ConversionOptions::default(), id_source));
    let made = made.map_err(|found| words_of(&found))?;
    Ok(VerbOutput {
        path: base.path.to_owned(),
        ..anew(base.dialect(), made.text, tells_changes(&made.notes))
    })
}

fn converted(base: &PlanTemplate, word: &str, dice: &mut ByteChoices<'_>) -> VerbOutcome {
    convert_to(base, word, DIALECTS[dice.below(DIALECTS.len())], Embed::Nothing)
}

fn convert_to(base: &PlanTemplate, word: &str, target: &'static dyn Dialect, embed: Embed) -> VerbOutcome {
    let options = ConversionOptions {
        embed,
        ..ConversionOptions::default()
    };
    let source = SourceText::new(base.text(word));
    let inspection = base.with_choice(|choice| inspect(&source, choice));
    let made = with_id_source(|id_source| convert(&inspection, target, &options, id_source))
        .map_err(|refused| refused.to_string())?;
    let is_change = |loss: &Loss| loss.kind == LossKind::Changed || loss.message.starts_with("it is cut to");
    let reports_changes = made.losses.iter().any(is_change);
    Ok(anew(target, made.text, reports_changes))
}

/// Checks that embedded content is restored unchanged.
fn converted_back(base: &PlanTemplate, word: &str, dice: &mut ByteChoices<'_>) -> VerbOutcome {
    let target = DIALECTS[dice.below(DIALECTS.len())];
    if !target.writer().is_some_and(|writer| writer.carries_originals()) {
        return Err(format!("a file of {} carries no original", target.name()));
    }
    let there = convert_to(base, word, target, Embed::Originals)?;
    super::reading::read_again(&there);
    let inspection = base.with_choice(|choice| {
        let choice = Choice {
            path: Some(&there.path),
            ..*choice
        };
        inspect(&SourceText::new(there.text.as_str()), &choice)
    });
    let options = ConversionOptions::default();
    let made = with_id_source(|id_source| convert(&inspection, base.dialect(), &options, id_source));
    let made = made.map_err(|refused| refused.to_string())?;
    Ok(anew(base.dialect(), made.text, false))
}

fn migrated(base: &PlanTemplate, word: &str, _dice: &mut ByteChoices<'_>) -> VerbOutcome {
    let source = SourceText::new(base.text(word));
    let inspection = base.with_choice(|choice| inspect(&source, choice));
    let order = MigrationOrder::default();
    let made = with_id_source(|id_source| migrate(&inspection, base.dialect(), &order, id_source));
    let made = made.map_err(|refused| refused.to_string())?;
    Ok(VerbOutput {
        path: base.path.to_owned(),
        origin: TextOrigin::Edited,
        ..anew(base.dialect(), made.text, false)
    })
}

/// Returns a plan as a planner's answer: alone, or in a fence that its content cannot close.
fn answer(base: &PlanTemplate, word: &str, dice: &mut ByteChoices<'_>) -> String {
    let plan = base.text(word);
    match dice.flip() {
        true => plan,
        false => format!("Here is the plan.\n\n~~~~~~\n{plan}~~~~~~\n"),
    }
}

fn drafted(base: &PlanTemplate, word: &str, dice: &mut ByteChoices<'_>) -> VerbOutcome {
    let dialect = base.dialect();
    let answer = answer(base, word, dice);
    let wish = wish("A goal", &[], dice);
    let made = with_id_source(|id_source| draft(&answer, dialect, &wish, id_source))
        .map_err(|unusable| words_of(&unusable.findings))?;
    let count = |text: String| base.with_choice(|choice| n_tasks(&Open::new(&SourceText::new(text), choice)));
    assert_eq!(
        count(made.text.clone()),
        count(base.text(PLAIN)),
        "a part of the plan was taken for it"
    );
    Ok(anew(dialect, made.text, tells_changes(&made.notes)))
}

fn tells_changes(notes: &[Diagnostic]) -> bool {
    notes.iter().any(|note| note.rule.id == CHANGED.id)
}

fn replanned(base: &PlanTemplate, word: &str, dice: &mut ByteChoices<'_>) -> VerbOutcome {
    let answer = answer(base, word, dice);
    base.with_choice(|choice| {
        let open = Open::new(&SourceText::new(base.text(PLAIN)), choice);
        let version = with_id_source(|id_source| new_version(&open.inspection, base.dialect(), &answer, id_source));
        let version = version.map_err(|unusable| words_of(&unusable.findings))?;
        let changed = rewrite(&open, choice, &version.slots, NOW).map_err(refused)?;
        in_place(base, changed)
    })
}

fn fixed(base: &PlanTemplate, word: &str, _dice: &mut ByteChoices<'_>) -> VerbOutcome {
    let sound = base.with_choice(|choice| inspect(&SourceText::new(base.text(word)), choice));
    if sound.count(Severity::Error) > 0 {
        return Err("the dialect does not take this word".to_owned());
    }
    let source = SourceText::new(base.defective(word));
    let fixed = base.with_choice(|choice| fix(&source, choice, Safety::Safe));
    assert!(!fixed.applied.is_empty(), "nothing to fix:\n{}", source.as_str());
    Ok(VerbOutput {
        path: base.path.to_owned(),
        origin: TextOrigin::Edited,
        ..anew(base.dialect(), fixed.source.as_str().to_owned(), false)
    })
}
