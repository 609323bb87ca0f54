//! PLAN on the command line: the options and arguments that name a plan.

use clap::builder::{NonEmptyStringValueParser as NonEmpty, PossibleValuesParser};
use planwright_core::dialect::DIALECTS;
use planwright_verbs::text::one_line;
use planwright_verbs::{Failure, PlanChoice, Result};

/// How plans are looked for and read.
#[derive(clap::Args, Default)]
pub(crate) struct Reading {
    /// Read it in this dialect, without detection.
    #[arg(long, value_name = "DIALECT", value_parser = dialect_names())]
    pub(crate) dialect: Option<String>,

    /// Also look at the OpenCrabs plans in the home folder.
    #[arg(long)]
    pub(crate) user: bool,
}

impl Reading {
    fn choice(&self, plan: Option<&str>) -> PlanChoice {
        PlanChoice {
            plan: plan.map(str::to_owned),
            dialect: self.dialect.clone(),
            user: self.user,
        }
    }
}

/// The plan that a verb reads or changes. `help` has the words for verbs that also read standard input.
#[derive(clap::Args)]
pub(crate) struct PlanOption {
    /// The plan: a path, the folder of its workspace, its id or title, or part of either. Default: the workspace's only plan.
    #[arg(long = "plan", short, value_name = "PLAN", value_parser = NonEmpty::new())]
    pub(crate) plan: Option<String>,

    #[command(flatten)]
    pub(crate) reading: Reading,
}

impl PlanOption {
    pub(crate) fn choice(&self) -> PlanChoice {
        self.reading.choice(self.plan.as_deref())
    }
}

/// The same for verbs that take the plan as their argument.
#[derive(clap::Args)]
pub(crate) struct PlanArgument {
    /// The plan: a path, the folder of its workspace, its id or title, or part of either. Default: the workspace's only plan.
    #[arg(value_name = "PLAN", value_parser = NonEmpty::new())]
    pub(crate) plan: Option<String>,

    #[command(flatten)]
    also: AlsoNamed,
}

impl PlanArgument {
    pub(crate) fn choice(&self) -> Result<PlanChoice> {
        Ok(self.also.reading.choice(self.also.or(&self.plan)?))
    }
}

/// The plan as verbs take it that are about a task: those that take it as their argument understand that as well.
#[derive(clap::Args)]
struct AlsoNamed {
    /// The plan, as the verbs take it that are about a task.
    #[arg(
        long = "plan",
        short = 'p',
        value_name = "PLAN",
        value_parser = NonEmpty::new(),
        hide = true
    )]
    named: Option<String>,

    #[command(flatten)]
    reading: Reading,
}

impl AlsoNamed {
    /// Returns the named plan. Refuses two different ones.
    fn or<'a>(&'a self, plan: &'a Option<String>) -> Result<Option<&'a str>> {
        match (plan.as_deref(), self.named.as_deref()) {
            (Some(plan), Some(named)) if plan != named => Err(two_plans(plan, named)),
            (plan, named) => Ok(plan.or(named)),
        }
    }
}

/// Refuses a command line with two plans instead of one.
pub(crate) fn two_plans(plan: &str, named: &str) -> Failure {
    Failure::usage(
        format!(
            "two plans are named: `{}` and, with -p, `{}`",
            one_line(plan),
            one_line(named)
        ),
        "name one plan, either way",
    )
}

/// Returns the names of the dialects, for the help and the completions.
pub(crate) fn dialect_names() -> PossibleValuesParser {
    PossibleValuesParser::new(DIALECTS.iter().map(|dialect| dialect.name()))
}
