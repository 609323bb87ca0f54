//! The verb `convert`: writes a plan in another dialect, and reports what is lost, invented or changed.

use std::path::{Component, Path, PathBuf};

use planwright_core::convert::{
    ConversionOptions, ConversionRefusal, Converted, Embed, Loss, SourcePlanRef, convert_parsed,
};
use planwright_core::diagnostic::{Diagnostic, Severity};
use planwright_core::dialect::Dialect;
use planwright_core::document::Parsed;
use planwright_core::inspect::Inspection;
use planwright_core::plan::Field;
use planwright_core::planning::derive::SourcePlan;
use planwright_run::inspect_file::{inspect_file, open};
use planwright_run::layout::root_of;
use planwright_run::store;
use serde::{Deserialize, Serialize};

use crate::configuration::sound_config;
use crate::failure::{Failure, Result};
use crate::planning::{
    NamedText, SourceFindings, create_plan, dialect_or_default, require_new, session_file, with_id_source_for,
};
use crate::plans::{dialect_named, states_of};
use crate::text::unified_diff;
use crate::workspace::Workspace;

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ConvertRequest {
    /// The plan file; `-` for the input of the caller.
    pub file: PathBuf,
    /// The dialect to write; none for the default of the workspace.
    pub to: Option<String>,
    /// The new file; none if the text is printed.
    pub out: Option<PathBuf>,
    /// Whether the new plan embeds what its dialect cannot hold, so that converting back restores it.
    #[serde(default)]
    pub embed: bool,
    /// To a task pack: the Markdown plan it is derived from, from the root of the repository.
    pub source_plan: Option<String>,
    /// To an OpenCrabs plan: the session it belongs to.
    pub session: Option<String>,
    /// The dialect to read the file in, if the user forces one.
    pub dialect: Option<String>,
    #[serde(default)]
    pub dry_run: bool,
    #[serde(default)]
    pub diff: bool,
}

#[derive(Serialize)]
pub struct ConvertReport {
    pub schema_version: &'static str,
    pub from: &'static str,
    pub to: &'static str,
    /// The written or intended path; null if the text is printed.
    pub out: Option<String>,
    pub written: bool,
    /// The new text, if it was not written.
    pub text: Option<String>,
    pub losses: Vec<LossReport>,
    /// The intended changes, if a diff was requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub diff: Option<String>,
    /// The losses, with the text for excerpts.
    #[serde(skip)]
    pub findings: SourceFindings,
}

#[derive(Serialize)]
pub struct LossReport {
    /// `lost`, `invented` or `changed`.
    pub kind: &'static str,
    pub task: Option<String>,
    pub field: String,
    pub message: String,
    /// Whether the new plan carries it in its extension member.
    pub carried: bool,
}

/// Converts a plan to another dialect.
pub fn convert(workspace: &Workspace, request: &ConvertRequest) -> Result<ConvertReport> {
    let root = root_of(workspace.folder());
    let config = sound_config(workspace, &root, "nothing is planned by it")?.config;
    let target = dialect_or_default(request.to.as_deref(), &config, &root, request.out.as_deref())?;
    let forced = request.dialect.as_deref().map(dialect_named).transpose()?;
    let origin = NamedText::load(workspace, &request.file)?;
    let (mut inspection, parsed) = open(&origin.source, origin.file(), forced).0.into_parts();
    if let Some(path) = origin.file() {
        states_of(&mut inspection, path)?;
    }
    let own = inspection.plan.as_ref().map(|linked| linked.plan.dialect);
    if request.to.is_none() && own == Some(target.name()) {
        return Err(Failure::usage(
            format!("`{}` is a {} plan already", origin.path.display(), target.name()),
            "name the target dialect with --to; `planwright schema` lists the dialects",
        ));
    }
    if let Some(session) = &request.session {
        session_file(target, session)?;
    }
    let out = request.out.as_ref().map(|out| workspace.path(out));
    let conversion = PlanConversion {
        workspace,
        request,
        out: out.as_deref(),
        target,
    };
    let converted = conversion.converted(&inspection, parsed);
    let converted = converted.map_err(|refused| origin.refusal(&refused))?;
    let is_written = out.is_some() && !request.dry_run && !request.diff;
    if let Some(out) = &out {
        match is_written {
            true => create_plan(workspace, out, &converted.text, target)?,
            false => require_new(out)?,
        }
    }
    let losses = converted.losses.iter();
    let plan = inspection.plan.as_ref().map(|linked| &linked.plan);
    let name = out.as_deref().unwrap_or(&origin.path).to_string_lossy();
    Ok(ConvertReport {
        schema_version: "planwright.convert/v1",
        from: own.unwrap_or_default(),
        to: target.name(),
        out: out.as_ref().map(|out| out.to_string_lossy().into_owned()),
        written: is_written,
        diff: request.diff.then(|| unified_diff(&name, "", &converted.text)),
        losses: losses.clone().map(|loss| loss_report(loss, &inspection)).collect(),
        findings: SourceFindings {
            findings: plan.map_or(Vec::new(), |plan| losses.map(|loss| loss.to_diagnostic(plan)).collect()),
            path: origin.path.clone(),
            source: origin.source,
        },
        text: (!is_written && !request.dry_run).then_some(converted.text),
    })
}

struct PlanConversion<'a> {
    workspace: &'a Workspace,
    request: &'a ConvertRequest,
    out: Option<&'a Path>,
    target: &'static dyn Dialect,
}

impl PlanConversion<'_> {
    /// Converts a plan to a text that is valid at its new path. The Markdown plan becomes the source of a task pack if it exists and
    /// matches.
    fn converted(&self, inspection: &Inspection, mut parsed: Option<Parsed>) -> Result<Converted, ConversionRefusal> {
        let root = root_of(self.out.unwrap_or(self.workspace.folder()));
        let options = |path: Option<&str>| ConversionOptions {
            embed: match self.request.embed {
                true => Embed::Originals,
                false => Embed::Nothing,
            },
            source_plan: path.map(|path| source_plan(&root, path)),
            session: self.request.session.clone(),
        };
        let mut attempt = |options: &ConversionOptions| {
            let parsed = parsed.take();
            let converted = with_id_source_for(self.workspace, self.target, self.out, |id_source| {
                convert_parsed(inspection, parsed, self.target, options, id_source)
            })?;
            self.sound_in_place(converted)
        };
        let chosen = self.request.source_plan.as_deref();
        let plan = inspection.plan.as_ref().map(|linked| &linked.plan);
        let named = plan
            .and_then(|plan| plan.head_str(Field::PlanPath))
            .filter(|path| chosen.is_none() && takes_source_plan(self.target) && is_below(&root, path));
        match named.map(|named| attempt(&options(Some(named)))) {
            Some(Ok(converted)) => Ok(converted),
            _ => attempt(&options(chosen)),
        }
    }

    /// Inspects the new text as `check` will, with facts from the disk about the files that it names.
    fn sound_in_place(&self, converted: Converted) -> Result<Converted, ConversionRefusal> {
        // Only a text that names other files can be invalid for reasons outside of it.
        if !takes_source_plan(self.target) {
            return Ok(converted);
        }
        let seen = inspect_file(&converted.inspection.source, self.out, Some(self.target)).inspection;
        let errors = seen.diagnostics.into_iter();
        let errors: Vec<Diagnostic> = errors.filter(|found| found.severity == Severity::Error).collect();
        match errors.is_empty() {
            true => Ok(converted),
            false => Err(ConversionRefusal::Invalid {
                text: converted.text,
                diagnostics: errors,
            }),
        }
    }
}

/// Returns whether a path in a plan is that of a file below a folder.
fn is_below(root: &Path, path: &str) -> bool {
    let mut parts = Path::new(path).components();
    parts.all(|part| matches!(part, Component::Normal(_))) && root.join(path).is_file()
}

fn takes_source_plan(target: &dyn Dialect) -> bool {
    let mut fields = target.tables().iter().flat_map(|table| table.fields);
    fields.any(|spec| spec.field == Field::SourcePlan)
}

fn loss_report(loss: &Loss, inspection: &Inspection) -> LossReport {
    let plan = inspection.plan.as_ref().map(|linked| &linked.plan);
    let name = |ix: usize| plan.map(|plan| plan.task_name(ix).into_owned());
    LossReport {
        kind: loss.kind.as_str(),
        task: loss.task.and_then(name),
        field: loss.field.to_string(),
        message: loss.message.to_string(),
        carried: loss.is_carried,
    }
}

/// Returns a source plan with the `spec_id` from its frontmatter.
fn source_plan(root: &Path, path: &str) -> SourcePlanRef {
    let loaded = store::load(&root.join(path)).ok();
    SourcePlanRef {
        path: path.to_owned(),
        spec_id: loaded.and_then(|loaded| SourcePlan::read(&loaded.source).spec_id),
    }
}
