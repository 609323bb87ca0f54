//! The command line: one file per verb or family of verbs, and their shared code.

mod adopt;
mod agents;
mod answers;
mod approval;
mod arbiter;
mod archive;
mod change;
mod check;
mod claim_args;
mod complete;
mod completions;
mod config;
mod control;
mod convert;
mod create;
mod diff;
mod doctor;
mod dry_run;
mod edit;
mod editor;
mod events;
mod find;
pub(crate) mod graph;
mod hash;
mod help;
mod history;
mod import;
mod init;
mod interrupt;
mod land;
mod list;
mod logs;
mod man;
mod migrate;
mod new;
mod next;
mod originals;
mod outline;
mod output;
mod plan;
mod plan_arg;
mod plan_option;
mod planner;
mod proposals;
mod replan;
mod report;
mod run;
mod run_view;
mod runs;
mod schema;
mod show;
mod suggestions;
mod summary;
mod task_edits;
mod task_words;
mod tasks;
mod text_arg;
mod transition;
mod undo;
mod verification_view;
mod verify;
mod why;
mod worktrees;

use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::process::ExitCode;

use clap::{Arg, ArgAction, ArgMatches, CommandFactory as _, FromArgMatches as _, Parser, Subcommand};

use planwright_core::plan::Verb as TaskVerb;
use planwright_run::fence;
use planwright_verbs::control::RunControl;
use planwright_verbs::depend::{depend, undepend};
use planwright_verbs::json::{ErrorBody, ErrorReport};
use planwright_verbs::plan_transition;
use planwright_verbs::{Exit, Failure, Result, TypedCommand};

use crate::compat;
pub(crate) use help::Listed;
use originals::{OriginalArgs, clido_run, original_exit, say};
use output::{ColorChoice, Form, Output};

/// One engine for the plans that AI coding agents work from.
///
/// Reads Markdown checklists (also of spec-kit, OpenSpec and Kiro), and OpenCrabs, clido, Aimi, spec-first and rawko plans,
/// in the files your agent already uses, and reports every error in them.
#[derive(Parser)]
#[command(name = "planwright", version, max_term_width = 100)]
struct Cli {
    #[command(subcommand)]
    verb: CliVerb,

    /// When to use colours; auto: on a terminal, unless NO_COLOR is set.
    #[arg(long, global = true, value_enum, default_value_t = ColorChoice::Auto, value_name = "WHEN", help_heading = "Global options")]
    color: ColorChoice,

    /// Print results only: no summaries, no remarks, no progress.
    #[arg(long, short, global = true, help_heading = "Global options")]
    quiet: bool,
}

#[derive(Subcommand)]
enum CliVerb {
    Run(Box<run::Args>),
    Check(check::Args),
    Show(show::Args),
    Next(next::Args),
    Why(why::Args),
    Graph(graph::Args),
    List(list::Args),
    /// Start tasks that are ready.
    #[command(after_help = "\
Examples:
  planwright start t2
  planwright start US-002 US-003 --by claude --lease 2h
  planwright start 1 -p .rawko/plans/plan-20261006-rate-limit.yaml --diff")]
    Start(transition::StartArgs),
    Done(transition::DoneArgs),
    /// Mark tasks as failed.
    #[command(after_help = "\
Examples:
  planwright fail t3 --note \"the router has no hook\"
  cargo test 2>&1 | tail -n 40 | planwright fail t3 --note -")]
    Fail(transition::FinishArgs),
    /// Skip tasks.
    #[command(after_help = "\
Examples:
  planwright skip t3 --note \"the gateway does it\"
  planwright skip 2 --no-cascade            rawko: what depends on it stays")]
    Skip(transition::FinishArgs),
    /// Retry failed tasks: make them pending again.
    ///
    /// An Aimi file keeps them as failed until they start. --start starts them in the same step.
    #[command(after_help = "\
Examples:
  planwright retry t3
  planwright retry t3 --start --by claude")]
    Retry(transition::RetryArgs),
    /// Block tasks on something outside the plan; needs --note.
    ///
    /// Only OpenCrabs plans can hold a blocked task.
    #[command(after_help = "\
Examples:
  planwright block 3 --note \"waits for the key of the provider\"")]
    Block(transition::FinishArgs),
    /// Reset tasks to pending.
    #[command(after_help = "\
Examples:
  planwright reset t3
  planwright reset t1 --force               although it is done")]
    Reset(transition::FinishArgs),
    Verify(verify::Args),
    Edit(edit::Args),
    Adopt(adopt::Args),
    Add(task_edits::AddArgs),
    Set(task_edits::SetArgs),
    Remove(task_edits::RemoveArgs),
    Move(task_edits::MoveArgs),
    Rename(task_edits::RenameArgs),
    #[command(after_help = "\
Examples:
  planwright depend t4 --on t2 --on t3")]
    Depend(task_edits::DependArgs),
    /// Remove dependencies of a task.
    #[command(after_help = "\
Examples:
  planwright undepend t4 --on t2")]
    Undepend(task_edits::DependArgs),
    /// Ask for a plan to be approved.
    ///
    /// An OpenCrabs draft, or a corrected plan after a rejection, becomes `PendingApproval`.
    #[command(after_help = "\
Examples:
  planwright submit plan.json --by ada")]
    Submit(approval::PlanArgs),
    /// Approve a plan, or the work of a task.
    ///
    /// An OpenCrabs plan becomes `Approved`. A task in review becomes done; an active run continues with the decision.
    #[command(after_help = "\
Examples:
  planwright approve plan.json --by ada     a plan
  planwright approve T002                   what a task made
  planwright approve --proposed             what agents and planners propose")]
    Approve(approval::JudgedArgs),
    /// Reject a plan, or the work of a task; needs --note.
    ///
    /// An OpenCrabs plan that has not started becomes `Rejected`; after a correction, `submit` it again. A task in review becomes
    /// failed; an active run continues with the decision.
    #[command(after_help = "\
Examples:
  planwright reject plan.json --note \"the load test is missing\"
  planwright reject T002 --note \"no test for the header\"")]
    Reject(approval::JudgedArgs),
    /// Cancel a plan.
    ///
    /// An OpenCrabs plan becomes `Cancelled`. A rawko plan becomes `failed`, with the note in its constraints. Its tasks keep their
    /// states.
    #[command(after_help = "\
Examples:
  planwright cancel plan.json --note \"the gateway does it now\"")]
    Cancel(approval::PlanArgs),
    Arbiter(arbiter::Args),
    Find(find::Args),
    Archive(archive::ArchiveArgs),
    Delete(archive::DeleteArgs),
    History(history::HistoryArgs),
    Undo(undo::Args),
    Diff(diff::Args),
    Plan(plan::Args),
    Replan(replan::Args),
    Proposals(proposals::Args),
    New(new::Args),
    Import(import::Args),
    Migrate(migrate::Args),
    Convert(convert::Args),
    Tasks(tasks::Args),
    Runs(runs::Args),
    Events(events::Args),
    Logs(logs::Args),
    /// Pause a run: nothing new starts, running tasks continue.
    #[command(after_help = "\
Examples:
  planwright pause                          the only run under way
  planwright pause tasks.json --note \"the disk is nearly full\"")]
    Pause(control::Args),
    /// Resume a paused run: it starts tasks again.
    #[command(after_help = "\
Examples:
  planwright resume")]
    Resume(control::Args),
    Stop(control::StopArgs),
    Summary(summary::Args),
    Report(report::Args),
    Land(land::Args),
    Worktrees(worktrees::Args),
    Init(init::Args),
    Doctor(doctor::Args),
    Agents(agents::Args),
    Config(config::Args),
    Schema(schema::Args),
    Hash(hash::Args),
    Completions(completions::Args),
    Man(man::Args),
    /// The spec-first command line: `tasks validate`, `tasks hash`.
    #[command(name = "spec-first", disable_help_flag = true)]
    SpecFirst(OriginalArgs),
    /// The aimi-cli.sh command line: `status`, `next-story`, and so on.
    #[command(name = "aimi-cli", disable_help_flag = true)]
    AimiCli(OriginalArgs),
    /// The clido command line: `plan list`, `show`, `run`, `delete`.
    #[command(name = "clido", disable_help_flag = true)]
    Clido(OriginalArgs),
}

pub(crate) fn command(listed: Listed) -> clap::Command {
    help::explained(with_json(Cli::command()), listed)
}

/// Verbs without `--json`.
const WITHOUT_JSON: &[&str] = &["completions", "man", "spec-first", "aimi-cli", "clido"];

/// Adds `--json` to the verbs that have a report and do not define it themselves.
fn with_json(command: clap::Command) -> clap::Command {
    let option = || Arg::new("json").long("json").action(ArgAction::SetTrue);
    command.mut_subcommands(|verb| {
        let has_own = verb.get_arguments().any(|argument| argument.get_id() == "json");
        match () {
            () if verb.has_subcommands() => with_json(verb),
            () if has_own || WITHOUT_JSON.contains(&verb.get_name()) => verb,
            () => verb.arg(option().help("Print JSON")),
        }
    })
}

/// Runs the command line and returns its exit status.
pub(crate) fn main(args: Vec<OsString>) -> ExitCode {
    if args.get(1).is_some_and(|word| word == fence::VERB) {
        return fence_exec(args.get(2..).unwrap_or_default());
    }
    if args.get(1).is_some_and(|word| word == complete::VERB) {
        let mut output = Output::new(ColorChoice::Never, false, Form::Text);
        complete::run(args.get(2..).unwrap_or_default(), &command(Listed::All), &mut output);
        return ExitCode::from(output.finish(Exit::Success) as u8);
    }
    interrupt::outlive_size_limit();
    let args = help::asked_otherwise(&args).unwrap_or(args);
    let args = plan_option::as_argument(args);
    let args = clido_run(&args).unwrap_or(args);
    if let Some(exit) = original_exit(&args) {
        return exit;
    }
    let (cli, form) = match parse(&args) {
        Ok(parsed) => parsed,
        Err(error) => return ExitCode::from(misuse(&args, &error) as u8),
    };
    let mut output = Output::new(cli.color, cli.quiet, form).of_command(typed_command(&args));
    let exit = match dispatch(cli.verb, &mut output) {
        Ok(exit) => exit,
        Err(error) => output.failure(&error),
    };
    ExitCode::from(output.finish(exit) as u8)
}

/// Restricts this process and executes a program in it: how fenced processes start. Runs before everything else, so that it is fast.
/// Returns only on failure, with the exit code of a shell that cannot execute a program.
fn fence_exec(words: &[OsString]) -> ExitCode {
    let why = fence::execute(words);
    let mut output = Output::new(ColorChoice::Never, false, Form::Text);
    output.note(&format!("{why}\n"));
    ExitCode::from(126)
}

/// Returns the command that the user typed, for help texts.
fn typed_command(args: &[OsString]) -> TypedCommand {
    let words = args.iter().skip(1);
    let words: Vec<String> = words.map(|word| word.to_string_lossy().into_owned()).collect();
    let cli = Cli::command();
    let verb = words.first().and_then(|verb| cli.find_subcommand(verb));
    let is_option = |argument: &clap::Arg| argument.get_short() == Some('p') && !argument.is_hide_set();
    TypedCommand {
        takes_plan_as_option: verb.is_some_and(|verb| verb.get_arguments().any(is_option)),
        words,
    }
}

/// Parses the command line, and whether its results are JSON.
fn parse(args: &[OsString]) -> Result<(Cli, Form), clap::Error> {
    if help::wants_all(args) {
        let mut command = command(Listed::All).color(help::coloured(args));
        command.try_get_matches_from_mut([OsString::from("planwright"), "--help".into()])?;
    }
    let mut command = command(Listed::Daily).color(help::coloured(args));
    let matches = command
        .try_get_matches_from_mut(args)
        .map_err(|error| suggestions::improved(error, &command))?;
    let cli = Cli::from_arg_matches(&matches).map_err(|error| error.format(&mut command))?;
    Ok((cli, form_of(&matches)))
}

/// Every verb calls it `--json`, or `--format json`.
fn form_of(matches: &ArgMatches) -> Form {
    let mut verb = matches;
    while let Some((_, inner)) = verb.subcommand() {
        verb = inner;
    }
    let flag = verb.try_get_one::<bool>("json").ok().flatten();
    let format = verb
        .try_get_raw("format")
        .ok()
        .flatten()
        .and_then(|mut values| values.next());
    let is_json = flag == Some(&true) || format.is_some_and(|format| format == "json");
    match (is_json, matches.subcommand_name()) {
        (true, Some("run" | "events")) => Form::JsonLines,
        (true, _) => Form::Json,
        (false, _) => Form::Text,
    }
}

/// Reports an invalid command line, also as JSON if requested.
fn misuse(args: &[OsString], error: &clap::Error) -> Exit {
    let printed = error.print();
    if !error.use_stderr() {
        // Help and version are answers, not errors; a closed pipe is neither.
        return match printed {
            Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
                let mut output = Output::new(ColorChoice::Never, false, Form::Text);
                output.note(&format!("error: standard output cannot be written: {error}\n"));
                Exit::Environment
            }
            _ => Exit::Success,
        };
    }
    let form = wanted_form(args);
    if form != Form::Text {
        let text = error.render().to_string();
        let mut parts = text.trim_start_matches("error: ").trim_end().splitn(2, "\n\n");
        let mut part = || parts.next().unwrap_or_default().to_owned();
        let report = ErrorReport::new(ErrorBody {
            exit_status: Exit::Usage as u8,
            message: part(),
            help: part(),
            ..ErrorBody::default()
        });
        let mut output = Output::new(ColorChoice::Never, false, form);
        if output.report(&report).is_ok() {
            return output.finish(Exit::Usage);
        }
    }
    Exit::Usage
}

/// Returns the form of results that an invalid command line requests.
fn wanted_form(args: &[OsString]) -> Form {
    let typed: Vec<_> = args.iter().take_while(|arg| *arg != "--").collect();
    let is_format = |pair: &[&OsString]| matches!(pair, [option, value] if *option == "--format" && *value == "json");
    let is_json =
        typed.iter().any(|arg| *arg == "--json" || *arg == "--format=json") || typed.windows(2).any(is_format);
    let verb = command(Listed::Daily);
    let verb = typed.iter().skip(1).find(|arg| verb.find_subcommand(arg).is_some());
    match verb.and_then(|verb| verb.to_str()) {
        _ if !is_json => Form::Text,
        Some("run" | "events") => Form::JsonLines,
        _ => Form::Json,
    }
}

fn dispatch(verb: CliVerb, output: &mut Output) -> Result<Exit> {
    match verb {
        CliVerb::Run(args) => run::run(&args, output),
        CliVerb::Check(args) => check::run(&args, output),
        CliVerb::Show(args) => show::run(&args, output),
        CliVerb::Next(args) => next::run(&args, output),
        CliVerb::Why(args) => why::run(&args, output),
        CliVerb::Graph(args) => graph::run(&args, output),
        CliVerb::List(args) => list::run(&args, output),
        CliVerb::Start(args) => transition::start(&args, output),
        CliVerb::Done(args) => transition::done(&args, output),
        CliVerb::Fail(args) => transition::finish(TaskVerb::Fail, &args, output),
        CliVerb::Skip(args) => transition::finish(TaskVerb::Skip, &args, output),
        CliVerb::Retry(args) => transition::retry(&args, output),
        CliVerb::Block(args) => transition::finish(TaskVerb::Block, &args, output),
        CliVerb::Reset(args) => transition::finish(TaskVerb::Reset, &args, output),
        CliVerb::Verify(args) => verify::run(&args, output),
        CliVerb::Edit(args) => edit::run(&args, output),
        CliVerb::Adopt(args) => adopt::run(&args, output),
        CliVerb::Add(args) => task_edits::add(&args, output),
        CliVerb::Set(args) => task_edits::set(&args, output),
        CliVerb::Remove(args) => task_edits::remove(&args, output),
        CliVerb::Move(args) => task_edits::shift(&args, output),
        CliVerb::Rename(args) => task_edits::rename(&args, output),
        CliVerb::Depend(args) => task_edits::depend(depend, &args, output),
        CliVerb::Undepend(args) => task_edits::depend(undepend, &args, output),
        CliVerb::Submit(args) => approval::change_plan(plan_transition::submit, &args, output),
        CliVerb::Approve(args) => approval::approve(&args, output),
        CliVerb::Reject(args) => approval::reject(&args, output),
        CliVerb::Cancel(args) => approval::change_plan(plan_transition::cancel, &args, output),
        CliVerb::Arbiter(args) => arbiter::run(&args, output),
        CliVerb::Find(args) => find::run(&args, output),
        CliVerb::Archive(args) => archive::run_archive(&args, output),
        CliVerb::Delete(args) => archive::run_delete(&args, output),
        CliVerb::History(args) => history::run(&args, output),
        CliVerb::Undo(args) => undo::run(&args, output),
        CliVerb::Diff(args) => diff::run(&args, output),
        CliVerb::Plan(args) => plan::run(&args, output),
        CliVerb::Replan(args) => replan::run(&args, output),
        CliVerb::Proposals(args) => proposals::run(&args, output),
        CliVerb::New(args) => new::run(&args, output),
        CliVerb::Import(args) => import::run(&args, output),
        CliVerb::Migrate(args) => migrate::run(&args, output),
        CliVerb::Convert(args) => convert::run(&args, output),
        CliVerb::Tasks(args) => tasks::run(&args, output),
        CliVerb::Runs(args) => runs::run(&args, output),
        CliVerb::Events(args) => events::run(&args, output),
        CliVerb::Logs(args) => logs::run(&args, output),
        CliVerb::Pause(args) => control::run(RunControl::Pause, &args, output),
        CliVerb::Resume(args) => control::run(RunControl::Resume, &args, output),
        CliVerb::Stop(args) => control::run_stop(&args, output),
        CliVerb::Summary(args) => summary::run(&args, output),
        CliVerb::Report(args) => report::run(&args, output),
        CliVerb::Land(args) => land::run(&args, output),
        CliVerb::Worktrees(args) => worktrees::run(&args, output),
        CliVerb::Init(args) => init::run(&args, output),
        CliVerb::Doctor(args) => doctor::run(&args, output),
        CliVerb::Agents(args) => agents::run(&args, output),
        CliVerb::Config(args) => config::run(&args, output),
        CliVerb::Schema(args) => schema::run(&args, output),
        CliVerb::Hash(args) => hash::run(&args, output),
        CliVerb::Completions(args) => completions::run(&args, output),
        CliVerb::Man(args) => man::run(&args, output),
        CliVerb::SpecFirst(OriginalArgs { args }) => Ok(say(&compat::spec_first::run(&args), output)),
        CliVerb::AimiCli(OriginalArgs { args }) => Ok(say(&compat::aimi_cli::run(&args, None), output)),
        CliVerb::Clido(OriginalArgs { args }) => Ok(say(&compat::clido::run(&args), output)),
    }
}

/// Runs a plan as `planwright run PLAN` does.
fn run_plan(plan: &Path, output: &mut Output) -> Result<Exit> {
    run::run(&run_args(plan)?, output)
}

/// Returns the arguments of `planwright run PLAN`.
fn run_args(plan: &Path) -> Result<run::Args> {
    let words = [OsString::from("planwright"), "run".into(), "--".into(), plan.into()];
    match parse(&words)
        .map_err(|error| Failure::usage(error.to_string(), ""))?
        .0
        .verb
    {
        CliVerb::Run(args) => Ok(*args),
        _ => Err(Failure::usage("the words of a run are no run", "")),
    }
}
