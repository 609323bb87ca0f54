//! Reads objects by a table of fields: finds them, checks their shapes, records their spans. The dialect supplies its own sentences.

use super::PlanReading;
use super::aliases::misnamed;
use super::rules;
use super::table::{FieldShape, FieldSpec, FieldTable, Need};
use super::time::is_iso_time;
use super::words::{is_same_word, meant_status, nearest};
use crate::diagnostic::{Diagnostic, Replacement, Rule, Safety, push_bounded};
use crate::document::{DocumentFormat, Member, NodeKind, NodeRef, Style};
use crate::plan::{Dependency, DependencyTarget, Field, FieldEntry, FieldValue, PlanBuilder, Status, TaskName, Text};
use crate::text::{Span, visible};

/// The approximate number of stored fields of a task.
const N_FIELDS_OF_TASK: usize = 8;

const MAX_FIELDS: usize = 24;

/// A headline and advice.
pub type Sentence = (String, String);

/// A dialect's sentence for an unknown status.
pub(crate) type StatusSentence<'s> = dyn Fn(&str) -> Sentence + 's;

/// A dialect's sentences for findings about fields.
pub struct FindingTexts {
    /// A required field that is missing from an object.
    pub missing: fn(owner: &str, spec: &FieldSpec) -> Sentence,
    /// A field whose value has the wrong shape.
    pub invalid: fn(owner: &str, spec: &FieldSpec, found: NodeRef<'_>) -> Sentence,
    /// Advice for a number or boolean in quotes.
    pub quoted: fn(owner: &str, spec: &FieldSpec, bare: &str) -> String,
}

/// The sentences of dialects without their own.
pub static PLAIN_VOICE: FindingTexts = FindingTexts {
    missing: |owner, spec| {
        (
            format!("{owner} has no `{}`", spec.name),
            format!("add `{}`: {}", spec.name, spec.shape.describe()),
        )
    },
    invalid: |owner, spec, found| {
        let shown = match found.kind() {
            NodeKind::Object | NodeKind::Array => found.describe().to_owned(),
            _ => format!("`{}`", excerpt(found.slice())),
        };
        (
            format!(
                "`{}` of {owner} must be {}, found {shown}",
                spec.name,
                spec.shape.describe()
            ),
            match spec.shape {
                FieldShape::OneOf(words) => {
                    nearest(&found.value(), words).map_or(String::new(), |word| format!("did you mean `{word}`?"))
                }
                _ => String::new(),
            },
        )
    },
    quoted: |_, spec, bare| format!("set `{}` to {bare}, without quotes", spec.name),
};

/// Returns a short, printable form of a value as written.
pub(crate) fn excerpt(slice: &str) -> String {
    match slice.char_indices().nth(60) {
        Some((end, _)) => format!("{}…", visible(&slice[..end])),
        None => visible(slice).into_owned(),
    }
}

/// The members of one object, sorted by table.
pub struct ObjectFields<'d> {
    object: NodeRef<'d>,
    /// The row of each field's value, or `ABSENT`.
    rows: [u32; MAX_FIELDS],
}

const ABSENT: u32 = u32::MAX;

/// The field exists under another name, which has been reported.
const MISNAMED: u32 = u32::MAX - 1;

impl<'d> ObjectFields<'d> {
    /// Returns the value of the field at an index of the table.
    pub fn get(&self, spec_ix: usize) -> Option<NodeRef<'d>> {
        let row = self.rows.get(spec_ix).copied().filter(|&row| row < MISNAMED)?;
        Some(self.object.document().at(row as usize))
    }

    /// Returns the value of the field at an index of the table if it is of a kind, with aliases resolved.
    pub(crate) fn get_kind(&self, spec_ix: usize, kind: NodeKind) -> Option<NodeRef<'d>> {
        self.get(spec_ix).filter(|node| node.resolved().kind() == kind)
    }

    /// Records that a missing field has another explanation.
    pub(crate) fn excuse(&mut self, spec_ix: usize) {
        if let Some(slot) = self.rows.get_mut(spec_ix).filter(|slot| **slot == ABSENT) {
            *slot = MISNAMED;
        }
    }

    /// Returns whether the field is missing without another explanation.
    fn is_absent(&self, spec_ix: usize) -> bool {
        self.rows.get(spec_ix) == Some(&ABSENT)
    }

    /// Returns whether the field exists under another name, which has been reported.
    pub(crate) fn is_misnamed(&self, spec_ix: usize) -> bool {
        self.rows.get(spec_ix) == Some(&MISNAMED)
    }

    pub(crate) fn object(&self) -> NodeRef<'d> {
        self.object
    }
}

/// Reads one document into one plan.
pub struct PlanReader<'d> {
    /// The plan so far.
    pub builder: PlanBuilder,
    pub(crate) diagnostics: Vec<Diagnostic>,
    voice: &'static FindingTexts,
    /// Members of the last object that are not in its table.
    pub(crate) unknown: Vec<Member<'d>>,
    /// Fields of the object being read.
    entries: Vec<FieldEntry>,
    dependencies: Vec<Dependency>,
    /// The positions of the members in the last object: files repeat themselves.
    guess: [u8; MAX_FIELDS],
    /// How many values may still be read through aliases, and whether the limit was reported.
    alias_fuel: usize,
    said_aliases: bool,
    /// How many bytes of text were read in a document with aliases.
    n_text_bytes: usize,
}

/// How many values may be read through YAML aliases.
pub(crate) const ALIAS_FUEL: usize = 1_000_000;

/// How many bytes may be read through repetition in a document, in addition to its own. Each may be read three times.
const MAX_ALIASED_BYTES: usize = 32 * 1024 * 1024;

impl<'d> PlanReader<'d> {
    /// Returns an empty reader with a dialect's sentences.
    pub fn new(builder: PlanBuilder, voice: &'static FindingTexts) -> Self {
        PlanReader {
            builder,
            diagnostics: Vec::new(),
            voice,
            unknown: Vec::new(),
            entries: Vec::new(),
            dependencies: Vec::new(),
            guess: [0; MAX_FIELDS],
            alias_fuel: ALIAS_FUEL,
            said_aliases: false,
            n_text_bytes: 0,
        }
    }

    /// Returns the plan that was read, with the findings.
    pub fn finish(mut self) -> PlanReading {
        if self.builder.plan().is_doubtful {
            // A fix that is safe for a valid text may be wrong for an invalid one.
            let fixes = self.diagnostics.iter_mut().filter_map(|found| found.fix.as_mut());
            fixes.for_each(|fix| fix.safety = Safety::Unsafe);
        }
        PlanReading {
            plan: Some(self.builder.finish()),
            diagnostics: self.diagnostics,
            ..PlanReading::default()
        }
    }

    /// Adds a finding, up to a limit: a small file may have millions of errors.
    pub(crate) fn report(&mut self, diagnostic: Diagnostic) {
        push_bounded(&mut self.diagnostics, || diagnostic);
    }

    /// Adds a finding that consists of a message and advice.
    pub fn report_with_help(
        &mut self,
        rule: &'static Rule,
        span: Span,
        message: impl Into<String>,
        help: impl Into<String>,
    ) {
        self.report(Diagnostic::new(rule, span, message).with_help(help));
    }

    /// Adds several findings.
    pub(crate) fn report_all(&mut self, diagnostics: impl IntoIterator<Item = Diagnostic>) {
        diagnostics.into_iter().for_each(|diagnostic| self.report(diagnostic));
    }

    /// Sorts the members of an object by a table; others go to `unknown`.
    pub fn sort(&mut self, object: NodeRef<'d>, table: &'static FieldTable) -> ObjectFields<'d> {
        let mut found = ObjectFields {
            object,
            rows: [ABSENT; MAX_FIELDS],
        };
        self.unknown.clear();
        self.builder.plan().is_doubtful |= object.document().is_doubtful();
        if object.kind() == NodeKind::Alias && !self.spend(object.resolved()) {
            return found;
        }
        // JSON, the format of large plans, has no merge keys to follow.
        if object.document().format() == DocumentFormat::Json {
            self.sort_members(object.own_members(), table, &mut found);
        } else {
            self.sort_members(object.members(), table, &mut found);
        }
        found
    }

    #[inline]
    fn sort_members(
        &mut self,
        members: impl Iterator<Item = Member<'d>>,
        table: &'static FieldTable,
        found: &mut ObjectFields<'d>,
    ) {
        for (position, member) in members.enumerate() {
            let position = position.min(MAX_FIELDS - 1);
            let guess = self.guess[position] as usize;
            let known = match table.fields.get(guess) {
                Some(spec) if member.key.is_text(spec.name) => Some(guess),
                _ => table.fields.iter().position(|spec| member.key.is_text(spec.name)),
            };
            match known {
                Some(spec_ix) => {
                    self.guess[position] = spec_ix as u8;
                    if let Some(slot) = found.rows.get_mut(spec_ix).filter(|slot| **slot == ABSENT) {
                        *slot = member.value.row() as u32;
                    }
                }
                None => self.unknown.push(member),
            }
        }
    }

    /// Reports members of the last sorted object that are one of its fields under another name.
    pub(crate) fn report_misnamed(
        &mut self,
        found: &mut ObjectFields<'d>,
        table: &'static FieldTable,
        owner: &dyn Fn() -> String,
    ) {
        if self.unknown.is_empty() {
            return;
        }
        for (spec_ix, diagnostic) in misnamed(&self.unknown, table, &|ix| found.is_absent(ix), owner) {
            found.excuse(spec_ix);
            self.report(diagnostic);
        }
    }

    /// Uses fuel for reading through an alias; reports once when it is used up.
    fn spend(&mut self, target: NodeRef<'d>) -> bool {
        let cost = target.n_rows();
        if self.alias_fuel >= cost {
            self.alias_fuel -= cost;
            return true;
        }
        self.alias_fuel = 0;
        self.report_aliases(target, "a million values");
        false
    }

    /// Counts the text that is read in a document with aliases and merge keys, because a long text may be repeated; reports once when it is
    /// too much.
    fn affords(&mut self, text: NodeRef<'d>) -> bool {
        let document = text.document();
        if document.n_aliases() == 0 {
            return true;
        }
        self.n_text_bytes = self.n_text_bytes.saturating_add(text.span().len());
        let is_affordable = self.n_text_bytes <= document.source().len() * 3 + MAX_ALIASED_BYTES;
        if !is_affordable {
            self.report_aliases(text, "32 MiB of text");
        }
        is_affordable
    }

    fn report_aliases(&mut self, target: NodeRef<'d>, how_much: &str) {
        if !std::mem::replace(&mut self.said_aliases, true) {
            let message = format!("more than {how_much} stand behind aliases: the rest is not read");
            self.report(Diagnostic::new(&rules::TOO_MANY_ALIASES, target.span(), message));
        }
    }

    /// Checks every field of a sorted object and collects the values; the dialect checks those of shape `Any` itself. The values are valid
    /// until the next call.
    pub fn record(
        &mut self,
        found: &ObjectFields<'d>,
        table: &'static FieldTable,
        owner: &dyn Fn() -> String,
    ) -> Vec<FieldEntry> {
        self.entries.clear();
        for (spec_ix, spec) in table.fields.iter().enumerate() {
            match found.get(spec_ix) {
                Some(node) => {
                    if let Some(value) = self.value(node, spec, owner) {
                        self.entries.push(FieldEntry {
                            field: spec.field,
                            value,
                        });
                    }
                }
                None if spec.need == Need::Required && found.is_absent(spec_ix) => {
                    self.missing(found.object, spec, owner);
                }
                None => {}
            }
        }
        std::mem::take(&mut self.entries)
    }

    /// Reads an object with fields of the plan; reports those under another name.
    pub fn head(
        &mut self,
        object: NodeRef<'d>,
        table: &'static FieldTable,
        owner: &dyn Fn() -> String,
    ) -> ObjectFields<'d> {
        let mut found = self.sort(object, table);
        self.report_misnamed(&mut found, table, owner);
        self.record_head(&found, table, owner);
        found
    }

    /// Checks every field of a sorted object, and uses the values as those of the plan.
    pub(crate) fn record_head(
        &mut self,
        found: &ObjectFields<'d>,
        table: &'static FieldTable,
        owner: &dyn Fn() -> String,
    ) {
        let entries = self.record(found, table, owner);
        for entry in &entries {
            self.builder.head_entry(entry.field, entry.value);
        }
        self.recycle(entries);
    }

    /// Returns the elements of the list of tasks, with the approximate number of document rows of each; none without a list.
    pub fn tasks(
        &mut self,
        list: Option<NodeRef<'d>>,
        n_rows_of_task: usize,
    ) -> impl Iterator<Item = (usize, NodeRef<'d>)> + use<'d> {
        let list = list.filter(|list| list.resolved().kind() == NodeKind::Array);
        if let Some(list) = list {
            self.builder.plan().tasks_span = Some(list.span());
            self.builder.reserve(list.n_rows() / n_rows_of_task, N_FIELDS_OF_TASK);
        }
        list.into_iter().flat_map(NodeRef::elements).enumerate()
    }

    /// Reads a list of dependencies: the dialect resolves each item.
    pub fn dependencies(
        &mut self,
        list: Option<NodeRef<'d>>,
        mut target_of: impl FnMut(&mut Self, NodeRef<'d>) -> DependencyTarget,
    ) -> Vec<Dependency> {
        let Some(list) = list else {
            return Vec::new();
        };
        let mut dependencies = std::mem::take(&mut self.dependencies);
        if list.resolved().kind() != NodeKind::Array {
            dependencies.push(Dependency::unreadable(list.span()));
        }
        for item in list.elements() {
            let (span, target) = (item.span(), target_of(self, item));
            dependencies.push(Dependency { span, target });
        }
        dependencies
    }

    /// Adds a task and returns its index. Takes the buffers back.
    pub fn task(&mut self, node: NodeRef<'d>, entries: Vec<FieldEntry>, dependencies: Vec<Dependency>) -> usize {
        let task_ix = self
            .builder
            .task(node.span(), entries.iter().copied(), dependencies.iter().copied());
        self.dependencies = dependencies;
        self.dependencies.clear();
        self.recycle(entries);
        task_ix
    }

    /// Names a task by its id, if that is text.
    pub fn name_by_id(&mut self, task_ix: usize, id: Option<NodeRef<'d>>) {
        if let Some(id) = id.filter(|id| id.resolved().kind() == NodeKind::String) {
            let id = self.text(id);
            self.builder.task_mut(task_ix).name = TaskName::Id(id);
        }
    }

    /// Sets the status of a task, with its span.
    pub fn set_status(&mut self, task_ix: usize, node: NodeRef<'d>, status: Status) {
        let task = self.builder.task_mut(task_ix);
        task.status = status;
        task.status_span = node.span();
    }

    /// Returns the buffer of [`PlanReader::record`] for reuse by the next task.
    pub(crate) fn recycle(&mut self, entries: Vec<FieldEntry>) {
        self.entries = entries;
    }

    fn missing(&mut self, object: NodeRef<'d>, spec: &FieldSpec, owner: &dyn Fn() -> String) {
        // If reading stopped inside the object, a missing field may only be unread.
        if object.document().may_go_on(object) {
            return;
        }
        let (message, help) = (self.voice.missing)(&owner(), spec);
        let missing = Some(spec.name);
        let finding = Diagnostic::new(&rules::MISSING_FIELD, opening(object), message).with_help(help);
        self.report(Diagnostic { missing, ..finding });
    }

    /// Reports a value of the wrong shape.
    pub(crate) fn invalid(&mut self, node: NodeRef<'d>, spec: &FieldSpec, owner: &dyn Fn() -> String) {
        // An unparsable value has been reported already.
        if node.kind() == NodeKind::Invalid {
            return;
        }
        let (message, help) = (self.voice.invalid)(&owner(), spec, node);
        if let Some(bare) = unquoted(node, spec.shape) {
            let fix = vec![Replacement::new(node.span(), bare.clone())];
            let help = (self.voice.quoted)(&owner(), spec, &bare);
            self.report(
                Diagnostic::new(&rules::QUOTED_VALUE, node.span(), message)
                    .with_help(help)
                    .with_safe_fix(format!("write {bare} without quotes"), fix),
            );
            return;
        }
        let mut diagnostic = Diagnostic::new(&rules::INVALID_FIELD, node.span(), message).with_help(help);
        if let FieldShape::OneOf(words) = spec.shape
            && let Some(word) = words.iter().find(|word| is_same_word(word, &node.value()))
            && let Some(text) = requote(node, word)
        {
            let fix = vec![Replacement::new(node.span(), text)];
            diagnostic = diagnostic.with_safe_fix(format!("write `{word}`"), fix);
        }
        self.report(diagnostic);
    }

    fn value(&mut self, node: NodeRef<'d>, spec: &FieldSpec, owner: &dyn Fn() -> String) -> Option<FieldValue> {
        let resolved = node.resolved();
        let view = resolved.view();
        let fits = match (spec.shape, view.kind) {
            (FieldShape::Any | FieldShape::Own(_), _) => true,
            (FieldShape::Text | FieldShape::TextOrNull | FieldShape::TimeOrNull, NodeKind::String) => true,
            (FieldShape::TextOrNull | FieldShape::TimeOrNull | FieldShape::TextListOrNull, NodeKind::Null) => true,
            (FieldShape::NonBlank | FieldShape::Prose, NodeKind::String) => self.blank(resolved, spec, owner),
            (FieldShape::Time, NodeKind::String) => true,
            (FieldShape::Integer(min, max), NodeKind::Number) => resolved
                .as_integer()
                .is_some_and(|number| (min..=max).contains(&number)),
            (FieldShape::Number, NodeKind::Number) => resolved.as_number().is_some_and(f64::is_finite),
            (FieldShape::Bool, NodeKind::True | NodeKind::False) => true,
            (FieldShape::TextList | FieldShape::TextListOrNull, NodeKind::Array) => {
                self.all_texts(resolved, spec, owner)
            }
            (FieldShape::OneOf(words), NodeKind::String) => words.iter().any(|word| resolved.is_text(word)),
            (FieldShape::Object, NodeKind::Object) => true,
            (FieldShape::List, NodeKind::Array) => true,
            _ => false,
        };
        if !fits {
            // A list with a bad item, or a blank text, has its own finding.
            let reported = matches!(
                (spec.shape, view.kind),
                (FieldShape::TextList | FieldShape::TextListOrNull, NodeKind::Array)
                    | (FieldShape::NonBlank, NodeKind::String)
            );
            if !reported {
                self.invalid(node, spec, owner);
            }
            return None;
        }
        if matches!(spec.shape, FieldShape::Time | FieldShape::TimeOrNull) {
            self.time(resolved, spec, owner);
        }
        // Lists with their own reader are not read twice: their span is enough.
        if matches!(spec.field, Field::Dependencies | Field::Tasks | Field::Waves) {
            return Some(FieldValue::Opaque(resolved.span()));
        }
        Some(self.plain_value(resolved))
    }

    fn blank(&mut self, node: NodeRef<'d>, spec: &FieldSpec, owner: &dyn Fn() -> String) -> bool {
        let first = node
            .verbatim()
            .and_then(|span| node.document().source().as_str().as_bytes().get(span.start as usize));
        // Most texts begin with a letter; only others need a further check.
        if first.is_some_and(|byte| byte.is_ascii_alphanumeric()) || !node.value().trim().is_empty() {
            return true;
        }
        let (message, help) = (self.voice.invalid)(&owner(), spec, node);
        if spec.shape == FieldShape::NonBlank {
            self.report(Diagnostic::new(&rules::INVALID_FIELD, node.span(), message).with_help(help));
            return false;
        }
        let message = format!("`{}` of {} is blank", spec.name, owner());
        self.report(Diagnostic::new(&rules::BLANK_FIELD, node.span(), message).with_help("describe the work"));
        true
    }

    fn all_texts(&mut self, list: NodeRef<'d>, spec: &FieldSpec, owner: &dyn Fn() -> String) -> bool {
        let mut all = true;
        for item in list.elements() {
            if item.resolved().kind() != NodeKind::String {
                all = false;
                self.invalid(item, spec, owner);
            }
        }
        all
    }

    fn time(&mut self, node: NodeRef<'d>, spec: &FieldSpec, owner: &dyn Fn() -> String) {
        if node.kind() == NodeKind::String && !is_iso_time(&node.value()) {
            let message = format!(
                "`{}` of {} is not an ISO 8601 time: `{}`",
                spec.name,
                owner(),
                excerpt(&node.value())
            );
            let help = "write it like 2026-03-22T10:00:00Z";
            self.report_with_help(&rules::INVALID_TIMESTAMP, node.span(), message, help);
        }
    }

    /// Returns a node's value for the plan.
    pub(crate) fn plain_value(&mut self, node: NodeRef<'d>) -> FieldValue {
        let node = node.resolved();
        match node.kind() {
            NodeKind::String | NodeKind::Key => FieldValue::Text(self.text(node)),
            NodeKind::Number => FieldValue::Number(node.span()),
            NodeKind::True => FieldValue::True(node.span()),
            NodeKind::False => FieldValue::False(node.span()),
            NodeKind::Null => FieldValue::Null(node.span()),
            NodeKind::Array if node.elements().all(|item| is_scalar(item)) => {
                let first = self.builder.begin_list();
                for item in node.elements() {
                    let value = self.plain_value(item);
                    self.builder.list_item(value);
                }
                FieldValue::List(self.builder.end_list(node.span(), first))
            }
            _ if !self.affords(node) => FieldValue::Null(node.span()),
            _ => FieldValue::Opaque(node.span()),
        }
    }

    /// Returns a scalar as text for the plan; empty after the limit of text.
    pub fn text(&mut self, node: NodeRef<'d>) -> Text {
        let node = node.resolved();
        let view = node.view();
        if !self.affords(node) {
            return self.builder.bare_text(Span::at(view.span.start as usize));
        }
        match (view.kind, view.style) {
            (NodeKind::String, Style::Double | Style::Single) if view.is_verbatim && view.span.len() >= 2 => {
                self.builder.quoted_text(Span {
                    start: view.span.start + 1,
                    end: view.span.end - 1,
                })
            }
            (NodeKind::String, _) if !view.is_verbatim => {
                let value = node.value();
                self.builder.decoded_text(view.span, &value)
            }
            _ => self.builder.bare_text(view.span),
        }
    }
}

impl<'d> PlanReader<'d> {
    /// Reads a status word; reports an unknown one, with the nearest known word.
    pub(crate) fn status(
        &mut self,
        node: NodeRef<'d>,
        words: &[&'static str; 5],
        owner: &dyn Fn() -> String,
        sentence: Option<&StatusSentence<'_>>,
    ) -> Status {
        use Status::{Done, Failed, Pending, Running, Skipped};
        let node = node.resolved();
        if node.kind() == NodeKind::String
            && let Some(at) = words.iter().position(|word| node.is_text(word))
        {
            return [Pending, Running, Done, Failed, Skipped][at];
        }
        if node.kind() == NodeKind::Invalid {
            return Status::Unknown(self.text(node));
        }
        let written = excerpt(&node.value());
        let (message, help) = match sentence {
            Some(sentence) => sentence(&written),
            None => (
                format!("`{written}` is not a status of {}", owner()),
                format!("use one of {}", words.join(", ")),
            ),
        };
        let mut diagnostic = Diagnostic::new(&rules::INVALID_STATUS, node.span(), message).with_help(help);
        if let Some(at) = meant_status(&node.value(), words) {
            diagnostic = diagnostic.with_label(format!("did you mean `{}`?", words[at]));
            if let Some(text) = requote(node, words[at]) {
                let fix = vec![Replacement::new(node.span(), text)];
                diagnostic = diagnostic.with_safe_fix(format!("write `{}`", words[at]), fix);
            }
        }
        self.report(diagnostic);
        Status::Unknown(self.text(node))
    }

    /// Adds a placeholder for an invalid task, so that the positions of the others stay right. It is never ready.
    pub fn placeholder(&mut self, node: NodeRef<'d>) -> usize {
        let task_ix = self.builder.task(node.span(), [], []);
        let text = self.builder.bare_text(node.span());
        self.builder.task_mut(task_ix).status = Status::Unknown(text);
        task_ix
    }

    /// Reports a task that is not an object.
    pub fn not_an_object(&mut self, node: NodeRef<'d>, label: &str) {
        if node.kind() != NodeKind::Invalid {
            let message = format!("{label} is {}, not an object", node.describe());
            let help = "remove it, or write it as an object with its fields";
            self.report_with_help(&rules::INVALID_FIELD, node.span(), message, help);
        }
    }
}

/// Returns a word in the style of the scalar that it replaces; none for complex styles.
pub(crate) fn requote(node: NodeRef<'_>, word: &str) -> Option<String> {
    match node.style() {
        Style::Double => Some(format!("\"{word}\"")),
        Style::Plain => Some(word.to_owned()),
        Style::Single => Some(format!("'{word}'")),
        _ => None,
    }
}

fn is_scalar(node: NodeRef<'_>) -> bool {
    !matches!(node.resolved().kind(), NodeKind::Object | NodeKind::Array)
}

/// Returns the span to delete so that a member of a JSON object is removed with exactly one comma.
pub(crate) fn member_cut(object: NodeRef<'_>, member: Option<&Member<'_>>) -> Option<Span> {
    let member = member?;
    let mut before = None;
    let mut members = object.members();
    while let Some(other) = members.next() {
        if other.key.row() == member.key.row() {
            let end = member.value.span().end;
            return match (before, members.next()) {
                (Some(start), _) => Some(Span { start, end }),
                (None, Some(next)) => Some(Span {
                    start: member.key.span().start,
                    end: next.key.span().start,
                }),
                (None, None) => None,
            };
        }
        before = Some(other.value.span().end);
    }
    None
}

/// Returns the first character of a node, for findings about an object with a missing field.
pub(crate) fn opening(node: NodeRef<'_>) -> Span {
    let span = node.span();
    let first = node.slice().chars().next().map_or(0, char::len_utf8);
    Span::new(span.start as usize, span.start as usize + first)
}

/// Returns the value of a quoted number or boolean if the shape requires one.
fn unquoted(node: NodeRef<'_>, shape: FieldShape) -> Option<String> {
    if node.kind() != NodeKind::String {
        return None;
    }
    let value = node.value();
    let value = value.trim();
    let fits = match shape {
        FieldShape::Integer(min, max) => value
            .parse::<i64>()
            .is_ok_and(|number| (min..=max).contains(&number) && number.to_string() == value),
        FieldShape::Number => value.parse::<i64>().is_ok_and(|number| number.to_string() == value),
        FieldShape::Bool => matches!(value, "true" | "false"),
        _ => false,
    };
    fits.then(|| value.to_owned())
}
