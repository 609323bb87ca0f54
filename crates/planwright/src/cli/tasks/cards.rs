//! `planwright tasks cards PACK`: prints the cards of a contract, and compares them with those of the pack.

use planwright_core::diagnostic::Diagnostic;
use planwright_core::dialect::task_pack::drift;
use planwright_core::text::SourceText;
use planwright_run::inspect_file::inspect_file;
use planwright_run::journal::{Change, History, plan_id};
use planwright_run::store::{self, PlanFile, Prepared, Store, UpdateError};
use serde::Serialize;

use super::super::change::Found;
use super::super::exit::{Drawn, Evidence, Exit, Failure};
use super::super::output::Output;
use super::super::plan_arg::{TargetArgument, load_failure};
use super::derive::shown;
use super::{is_pack, no_pack};
use crate::render::json::DiagnosticReport;
use crate::render::terminal::printable;
use crate::render::text::{Teller, findings};

/// Print, check or rewrite the task cards of a pack.
///
/// The contract is what machines read, and it wins. A card that leaves a field out contradicts nobody; one that says something
/// else, is missing, or is of no task, has drifted.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  planwright tasks cards                     as the contract makes them
  planwright tasks cards --check             where those in the pack differ
  planwright tasks cards --write             mend those in the pack")]
pub(super) struct Args {
    #[command(flatten)]
    pack: TargetArgument,

    /// Report where cards and contract differ; exit 1 where they do.
    #[arg(long, conflicts_with = "write")]
    check: bool,

    /// Rewrite what has drifted, and nothing else.
    #[arg(long)]
    write: bool,

    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// The version of `tasks cards --json`.
const VERSION: &str = "planwright.cards/v1";

#[derive(Serialize)]
struct Report {
    schema_version: &'static str,
    plan: String,
    /// Whether cards and contract differ, or did before they were rewritten.
    drifted: bool,
    /// Whether the cards were rewritten.
    written: bool,
    /// The number of the change in the pack's history; null where nothing was written.
    change: Option<u64>,
    diagnostics: Vec<DiagnosticReport>,
    /// The cards that the contract makes.
    cards: String,
}

pub(super) fn run(args: &Args, output: &mut Output) -> anyhow::Result<Exit> {
    let found = args.pack.find()?;
    let source = store::load(&found.path).map_err(|error| load_failure(&error))?.source;
    let dialect = inspect_file(&source, Some(&found.path), found.forced)
        .inspection
        .dialect;
    if !dialect.is_some_and(is_pack) {
        return Err(no_pack(&found.path));
    }
    let (Some(cards), Some(drifted)) = (drift::cards(&source), drift::drift(&source)) else {
        return Err(Failure::problem(
            format!("`{}` has no contract that can be read", found.path.display()),
            "`planwright check` says what is wrong with it",
        ));
    };
    let change = match args.write && !drifted.is_empty() {
        true => write(&found, &source)?,
        false => None,
    };
    if args.json {
        let index = source.line_index();
        output.json(&Report {
            schema_version: VERSION,
            plan: found.path.to_string_lossy().into_owned(),
            drifted: !drifted.is_empty(),
            written: change.is_some(),
            change,
            diagnostics: drifted
                .iter()
                .map(|found| DiagnosticReport::new(found, &index))
                .collect(),
            cards,
        })?;
    } else if args.check {
        tell(&found, &source, &drifted, output);
    } else if args.write {
        let path = shown(&found.path);
        match change {
            Some(change) => output.line(&format!("wrote {} (change {change})", printable(&path))),
            None => output.remark("nothing to change: the cards say what the contract says"),
        }
    } else {
        output.write_exact(&cards);
    }
    Ok(match args.check && !drifted.is_empty() {
        true => Exit::Problems,
        false => Exit::Success,
    })
}

fn tell(found: &Found, source: &SourceText, drifted: &[Diagnostic], output: &mut Output) {
    let path = shown(&found.path);
    output.write(&findings(
        &path,
        source,
        drifted,
        Teller::RunState,
        output.paint(),
        output.width(),
    ));
    match drifted.len() {
        0 => output.remark("the cards say what the contract says"),
        1 => output.remark("the cards have drifted from the contract: 1 place"),
        n => output.remark(&format!("the cards have drifted from the contract: {n} places")),
    }
}

fn write(found: &Found, source: &SourceText) -> anyhow::Result<Option<u64>> {
    let inspection = inspect_file(source, Some(&found.path), found.forced).inspection;
    let id = inspection.plan.as_ref().and_then(|linked| plan_id(&linked.plan));
    let prepare = |newest: &SourceText, _: &History| {
        let text = drift::with_cards_renewed(newest).map_err(|refused| {
            let evidence = Evidence {
                path: found.path.to_string_lossy().into_owned(),
                source: newest.clone(),
                span: Some(refused.span),
                findings: Vec::new(),
                drawn: Drawn::Place,
            };
            Failure::shown(
                refused.message,
                "edit that place by hand; nothing was written",
                evidence,
            )
        })?;
        Ok(Some(Prepared {
            text: Some(SourceText::new(text)),
            change: Change {
                verb: "cards".to_owned(),
                ..Change::default()
            },
        }))
    };
    let file = PlanFile { path: &found.path, id };
    let updated = Store::default()
        .update(file, "cards", prepare)
        .map_err(|error| match error {
            UpdateError::Refused(refused) => refused,
            UpdateError::Store(error) => Failure::environment(&error, error.help()),
        })?;
    Ok(updated.change)
}
