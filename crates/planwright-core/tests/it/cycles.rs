//! Small random plans against exhaustive answers: cycles, orders, which tasks may start and which never can.

use std::collections::BTreeSet;

use planwright_core::check::check;
use planwright_core::diagnostic::Diagnostic;
use planwright_core::dialect::DIALECTS;
use planwright_core::graph::TaskGraph;
use planwright_core::plan::{
    Dependency, DependencyTarget, Lifecycle, Links, Plan, PlanBuilder, Priority, Readiness, StartVerdict, Status,
    TaskName, TaskOrder, Wait,
};
use planwright_core::text::{SourceText, Span};
use planwright_testkit::generate;
use proptest::prelude::*;
use proptest::test_runner::TestCaseResult;

use crate::fixtures::inspect_text;
use crate::generate::check_law;

const MAX_TASKS: usize = 7;

/// What a dependency of a random plan is.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Need {
    On(usize),
    Unknown,
}

/// One task of a random plan.
#[derive(Clone, Debug)]
struct Spec {
    needs: Vec<Need>,
    /// Pending, running, done, failed, skipped, blocked, unknown.
    status: usize,
    held: bool,
    stage: u32,
    priority: u8,
}

/// Returns random plans; dependencies are taken modulo the number of tasks.
fn specs(n_statuses: usize, n_stages: u32) -> impl Strategy<Value = Vec<Spec>> {
    let need = prop_oneof![
        12 => (0..MAX_TASKS).prop_map(Need::On),
        1 => Just(Need::Unknown),
    ];
    let needs = prop::collection::vec(need, 0..4);
    let task = (needs, 0..n_statuses, prop::bool::weighted(0.1), 0..n_stages, 0u8..3);
    let task = task.prop_map(|(needs, status, held, stage, priority)| Spec {
        needs,
        status,
        held,
        stage,
        priority,
    });
    prop::collection::vec(task, 1..=MAX_TASKS).prop_map(|mut specs| {
        let n_tasks = specs.len();
        for need in specs.iter_mut().flat_map(|spec| &mut spec.needs) {
            if let Need::On(task_ix) = need {
                *task_ix %= n_tasks;
            }
        }
        specs
    })
}

/// Builds the plan. Task names stand first in the text, then one place for each dependency.
fn build(specs: &[Spec], lifecycle: &'static Lifecycle, has_stages: bool) -> (Plan, Links) {
    let names: String = (0..MAX_TASKS).map(|ix| format!("t{ix}")).collect();
    let source = SourceText::new(format!("{names}{}", ".".repeat(100)));
    let mut builder = PlanBuilder::new(&source, "random", "random", lifecycle);
    let mut place = names.len();
    for (ix, spec) in specs.iter().enumerate() {
        let needs = spec.needs.iter().map(|need| {
            place += 1;
            Dependency {
                span: Span::new(place - 1, place),
                target: match *need {
                    Need::On(task_ix) => DependencyTarget::Position(task_ix as u32),
                    Need::Unknown => DependencyTarget::NoSuchNumber,
                },
            }
        });
        let needs: Vec<Dependency> = needs.collect();
        let name = builder.bare_text(Span::new(ix * 2, ix * 2 + 2));
        let task_ix = builder.task(Span::new(ix * 2, ix * 2 + 2), [], needs);
        let task = builder.task_mut(task_ix);
        task.name = TaskName::Id(name);
        task.status = match spec.status {
            0 => Status::Pending,
            1 => Status::Running,
            2 => Status::Done,
            3 => Status::Failed,
            4 => Status::Skipped,
            5 => Status::Blocked(name),
            _ => Status::Unknown(name),
        };
        task.held = spec.held;
        task.stage = spec.stage;
        task.barrier = spec.barrier();
        task.priority = Priority(f64::from(spec.priority));
    }
    builder.plan().has_stages = has_stages;
    let plan = builder.finish();
    let links = Links::new(&plan);
    (plan, links)
}

/// Returns the policies of all dialects, with the names they come from.
fn lifecycles() -> Vec<(&'static str, &'static Lifecycle)> {
    let known = DIALECTS.iter().map(|dialect| dialect.name());
    let read = |dialect: &'static str| {
        let linked = inspect_text(generate::plan(dialect, 1)).plan;
        (dialect, linked.expect("a generated plan is read").plan.lifecycle)
    };
    let mut found: Vec<_> = known.map(read).collect();
    let second = inspect_text("{\"schemaVersion\": \"2.2\", \"userStories\": []}").plan;
    found.push(("aimi v2", second.expect("v2 is read").plan.lifecycle));
    found
}

/// A graph as a table: `edges[a][b]` where a depends on b, itself excluded.
type Edges = Vec<Vec<bool>>;

fn edges_of(specs: &[Spec]) -> Edges {
    let mut edges = vec![vec![false; specs.len()]; specs.len()];
    for (ix, spec) in specs.iter().enumerate() {
        for need in &spec.needs {
            if let Need::On(to) = *need
                && to != ix
            {
                edges[ix][to] = true;
            }
        }
    }
    edges
}

/// Returns the length of the shortest way of one edge or more between each two of the living tasks.
fn distances(edges: &Edges, alive: &[bool]) -> Vec<Vec<Option<usize>>> {
    let n_tasks = edges.len();
    let mut ways = vec![vec![None; n_tasks]; n_tasks];
    for a in 0..n_tasks {
        for b in 0..n_tasks {
            if edges[a][b] && alive[a] && alive[b] {
                ways[a][b] = Some(1);
            }
        }
    }
    for via in 0..n_tasks {
        for a in 0..n_tasks {
            for b in 0..n_tasks {
                if let (Some(first), Some(second)) = (ways[a][via], ways[via][b]) {
                    let way = first + second;
                    ways[a][b] = Some(ways[a][b].map_or(way, |known: usize| known.min(way)));
                }
            }
        }
    }
    ways
}

/// Returns the tasks on the cycle of a finding, in its order, after checking that each step is an edge.
fn cycle_of(found: &Diagnostic, plan: &Plan, edges: &Edges) -> Result<Vec<usize>, TestCaseError> {
    let spans = found
        .span
        .into_iter()
        .chain(found.related.iter().map(|place| place.span));
    let mut steps = Vec::new();
    for span in spans {
        let at = plan.all_dependencies().iter().position(|known| known.span == span);
        let dependency_ix = at.expect("a cycle names places of dependencies");
        let owner = plan.tasks().iter().position(|task| {
            let first = plan.first_dependency(task);
            (first..first + plan.dependencies(task).len()).contains(&dependency_ix)
        });
        let DependencyTarget::Position(to) = plan.all_dependencies()[dependency_ix].target else {
            return Err(TestCaseError::fail("a circle through nowhere"));
        };
        steps.push((owner.expect("every dependency has a task"), to as usize));
    }
    for (at, &(from, to)) in steps.iter().enumerate() {
        prop_assert!(edges[from][to], "{from} does not depend on {to}");
        prop_assert_eq!(to, steps[(at + 1) % steps.len()].0, "the next step begins elsewhere");
    }
    let tasks: Vec<usize> = steps.iter().map(|&(from, _)| from).collect();
    let names: BTreeSet<usize> = tasks.iter().copied().collect();
    prop_assert_eq!(names.len(), tasks.len(), "a task twice on one circle");
    let mut path: Vec<String> = tasks.iter().map(|ix| format!("t{ix}")).collect();
    path.extend(path.first().cloned());
    prop_assert!(found.message.contains(&path.join(" -> ")), "{}", found.message);
    Ok(tasks)
}

fn of_rule<'f>(found: &'f [Diagnostic], rule: &'static str) -> impl Iterator<Item = &'f Diagnostic> {
    found.iter().filter(move |diagnostic| diagnostic.rule.id == rule)
}

fn check_cycles(specs: &[Spec], lifecycle: &'static Lifecycle) -> TestCaseResult {
    let (plan, links) = build(specs, lifecycle, false);
    let found = check(&plan, &links);
    let edges = edges_of(specs);
    let mut alive = vec![true; specs.len()];
    let on_a_circle = |alive: &[bool]| {
        let ways = distances(&edges, alive);
        (0..specs.len())
            .filter(|&ix| ways[ix][ix].is_some())
            .collect::<Vec<_>>()
    };
    let at_first = distances(&edges, &alive);
    let mut named = BTreeSet::new();
    for diagnostic in of_rule(&found, "dependency-cycle") {
        let cycle = cycle_of(diagnostic, &plan, &edges)?;
        for &ix in &cycle {
            prop_assert!(alive[ix], "circles share the task {ix}");
        }
        // The reported cycle is a shortest one in its component, without those reported before.
        let ways = distances(&edges, &alive);
        let knot = (0..specs.len()).filter(|&ix| ways[ix][cycle[0]].is_some() && ways[cycle[0]][ix].is_some());
        let shortest = knot.filter_map(|ix| ways[ix][ix]).min();
        prop_assert_eq!(Some(cycle.len()), shortest, "a shorter circle is there");
        for &ix in &cycle {
            alive[ix] = false;
        }
        named.extend(cycle);
    }
    prop_assert_eq!(
        on_a_circle(&alive),
        Vec::<usize>::new(),
        "a circle that touches no other is not reported"
    );
    // Every component has at least one cycle, and its first has the fewest possible tasks.
    for (ix, ways) in at_first.iter().enumerate() {
        if ways[ix].is_some() {
            let has_one = |&other: &usize| ways[other].is_some() && at_first[other][ix].is_some();
            prop_assert!(named.iter().any(has_one), "the knot of {} is not reported", ix);
        } else {
            prop_assert!(!named.contains(&ix), "{} is on no circle", ix);
        }
    }
    Ok(())
}

#[test]
fn exactly_the_tasks_in_cycles_are_found() {
    let lifecycle = lifecycles()[1].1;
    check_law(3_000, specs(1, 1), |specs| check_cycles(&specs, lifecycle));
}

impl Spec {
    /// Some tasks do not wait for the stages right before their own.
    fn barrier(&self) -> u32 {
        self.stage.saturating_sub(u32::from(self.priority))
    }
}

/// Adds the edges that barriers stand for: each task waits for all of the stages before its barrier.
fn with_barriers(specs: &[Spec]) -> Edges {
    let mut edges = edges_of(specs);
    for (a, row) in edges.iter_mut().enumerate() {
        for (b, edge) in row.iter_mut().enumerate() {
            *edge |= specs[b].stage < specs[a].barrier();
        }
    }
    edges
}

fn check_order(specs: &[Spec], has_stages: bool, lifecycle: &'static Lifecycle) -> TestCaseResult {
    let (plan, links) = build(specs, lifecycle, has_stages);
    let edges = if has_stages {
        with_barriers(specs)
    } else {
        edges_of(specs)
    };
    let ways = distances(&edges, &vec![true; specs.len()]);
    let is_acyclic = (0..specs.len()).all(|ix| ways[ix][ix].is_none());
    let graph = TaskGraph::new(&plan, &links);
    prop_assert_eq!(graph.is_ok(), is_acyclic);
    let Ok(graph) = graph else {
        return Ok(());
    };
    let order: Vec<usize> = graph.order().iter().map(|&ix| ix as usize).collect();
    let mut sorted = order.clone();
    sorted.sort_unstable();
    prop_assert_eq!(sorted, (0..specs.len()).collect::<Vec<_>>(), "every task once");
    let mut level = vec![0; specs.len()];
    for (at, &ix) in order.iter().enumerate() {
        for to in (0..specs.len()).filter(|&to| edges[ix][to]) {
            prop_assert!(order[..at].contains(&to), "{} comes before {}", ix, to);
            level[ix] = level[ix].max(level[to] + 1);
        }
        prop_assert_eq!(graph.level(ix), level[ix], "the level of {}", ix);
    }
    let path: Vec<usize> = graph.critical_path().iter().map(|&ix| ix as usize).collect();
    prop_assert_eq!(
        path.len(),
        level.iter().max().map_or(0, |most| most + 1),
        "the longest chain"
    );
    for pair in path.windows(2) {
        prop_assert!(edges[pair[1]][pair[0]], "{:?} is no chain", path);
    }
    Ok(())
}

#[test]
fn acyclic_plans_have_an_order() {
    let lifecycle = lifecycles()[1].1;
    check_law(2_000, specs(1, 1), |specs| check_order(&specs, false, lifecycle));
}

#[test]
fn stages_are_part_of_the_order() {
    let lifecycle = lifecycles()[3].1;
    check_law(2_000, specs(1, 4), |specs| check_order(&specs, true, lifecycle));
}

/// Returns what satisfies a dependency, implemented again from the documentation.
fn satisfies(dialect: &str, spec: &Spec) -> bool {
    // A pending task that is held will be skipped, and counts as that.
    let is_skipped = spec.status == 4 || (spec.status == 0 && spec.held);
    spec.status == 2 || (is_skipped && dialect != "rawko")
}

fn is_ready(dialect: &str, specs: &[Spec], has_stages: bool, ix: usize) -> bool {
    let own = &specs[ix];
    let met = |need: &Need| match *need {
        Need::On(to) => to != ix && satisfies(dialect, &specs[to]),
        Need::Unknown => false,
    };
    let earlier = |other: &Spec| has_stages && other.stage < own.barrier() && !satisfies(dialect, other);
    own.status == 0 && !own.held && own.needs.iter().all(met) && !specs.iter().any(earlier)
}

fn check_readiness(dialect: &str, lifecycle: &'static Lifecycle, specs: &[Spec], has_stages: bool) -> TestCaseResult {
    let (plan, links) = build(specs, lifecycle, has_stages);
    let readiness = Readiness::new(&plan, &links);
    let mut expected = Vec::new();
    for (ix, spec) in specs.iter().enumerate() {
        let ready = is_ready(dialect, specs, has_stages, ix);
        prop_assert_eq!(readiness.is_ready(ix), ready, "{} in {}", ix, dialect);
        match readiness.verdict(ix) {
            StartVerdict::Ready => prop_assert!(ready),
            StartVerdict::NotPending(_) => prop_assert!(spec.status != 0),
            StartVerdict::Waits(waits) => {
                prop_assert!(!ready && spec.status == 0 && !waits.is_empty());
                check_waits(dialect, specs, ix, &waits)?;
            }
        }
        if ready {
            expected.push(ix);
        }
    }
    match lifecycle.order {
        TaskOrder::File => {}
        TaskOrder::Priority => expected.sort_by_key(|&ix| specs[ix].priority),
        TaskOrder::Stage => expected.sort_by_key(|&ix| (specs[ix].stage, specs[ix].priority)),
    }
    prop_assert_eq!(readiness.ready(), expected);
    let progress = readiness.progress();
    let count = |status: usize| specs.iter().filter(|spec| spec.status.min(5) == status).count();
    let counts = [
        progress.pending,
        progress.running,
        progress.done,
        progress.failed,
        progress.skipped,
        progress.blocked,
    ];
    prop_assert_eq!(counts.to_vec(), (0..6).map(count).collect::<Vec<_>>());
    prop_assert_eq!(progress.total, specs.len());
    Ok(())
}

/// Checks that every reason is real, and that every unfinished dependency is named.
fn check_waits(dialect: &str, specs: &[Spec], ix: usize, waits: &[Wait]) -> TestCaseResult {
    for wait in waits {
        match *wait {
            Wait::For { task_ix, .. } => {
                prop_assert!(specs[ix].needs.contains(&Need::On(task_ix)) && task_ix != ix);
                prop_assert!(!satisfies(dialect, &specs[task_ix]));
            }
            Wait::ForUnknown { .. } => {
                let is_nobody = |need: &Need| matches!(need, Need::Unknown) || *need == Need::On(ix);
                prop_assert!(specs[ix].needs.iter().any(is_nobody));
            }
            Wait::ForStage { task_ix, .. } => {
                prop_assert!(specs[task_ix].stage < specs[ix].barrier());
                prop_assert!(!satisfies(dialect, &specs[task_ix]));
            }
            Wait::Held => prop_assert!(specs[ix].held),
        }
    }
    for need in &specs[ix].needs {
        if let Need::On(to) = *need
            && to != ix
            && !satisfies(dialect, &specs[to])
        {
            let is_named = |wait: &Wait| matches!(wait, Wait::For { task_ix, .. } if *task_ix == to);
            prop_assert!(waits.iter().any(is_named), "{} waits for {}", ix, to);
        }
    }
    Ok(())
}

#[test]
fn ready_tasks_equal_a_brute_force_computation() {
    for (dialect, lifecycle) in lifecycles() {
        check_law(500, specs(7, 1), |specs| {
            check_readiness(dialect, lifecycle, &specs, false)
        });
        check_law(500, specs(7, 3), |specs| {
            check_readiness(dialect, lifecycle, &specs, true)
        });
    }
}

#[test]
fn an_unreadable_dependency_is_never_satisfied() {
    for (dialect, text) in [
        (
            "clido",
            "{\"goal\": \"g\", \"tasks\": [{\"id\": \"t1\", \"description\": \"d\", \"depends_on\": [5]}]}",
        ),
        (
            "opencrabs",
            "{\"title\": \"t\", \"description\": \"d\", \"tasks\": [{\"title\": \"a\", \"description\": \"d\", \
             \"task_type\": \"edit\", \"dependencies\": [true]}]}",
        ),
    ] {
        let inspection = inspect_text(text);
        assert_eq!(inspection.dialect_name(), Some(dialect));
        let linked = inspection.plan.expect("the rest is read");
        let readiness = Readiness::new(&linked.plan, &linked.links);
        assert!(readiness.ready().is_empty(), "{dialect}: it is said to be ready");
    }
}

/// Simulates a run of all tasks and returns those that are still pending at the end.
fn never_started(dialect: &str, specs: &[Spec]) -> BTreeSet<usize> {
    let mut specs = specs.to_vec();
    for spec in specs.iter_mut().filter(|spec| spec.status == 1) {
        spec.status = 2;
    }
    while let Some(next) = (0..specs.len()).find(|&ix| is_ready(dialect, &specs, false, ix)) {
        specs[next].status = 2;
    }
    (0..specs.len()).filter(|&ix| specs[ix].status == 0).collect()
}

/// Returns the tasks with a finding of their own: on a cycle, or depending on themselves or on an unknown task.
fn has_own_finding(specs: &[Spec]) -> BTreeSet<usize> {
    let ways = distances(&edges_of(specs), &vec![true; specs.len()]);
    let is_one = |ix: &usize| {
        let needs = &specs[*ix].needs;
        ways[*ix][*ix].is_some() || needs.contains(&Need::Unknown) || needs.contains(&Need::On(*ix))
    };
    (0..specs.len()).filter(is_one).collect()
}

fn check_never_ready(dialect: &str, lifecycle: &'static Lifecycle, specs: &[Spec]) -> TestCaseResult {
    let (plan, links) = build(specs, lifecycle, false);
    let found = check(&plan, &links);
    let mut told = BTreeSet::new();
    for diagnostic in of_rule(&found, "never-ready") {
        let span = diagnostic.span.expect("it has a place");
        let owner = plan.tasks().iter().position(|task| {
            let mut own = plan.dependencies(task).iter().map(|dependency| dependency.span);
            own.any(|place| place == span)
        });
        told.insert(owner.expect("the place of a dependency"));
    }
    let stuck = never_started(dialect, specs);
    let own = has_own_finding(specs);
    let untold: Vec<_> = stuck
        .iter()
        .filter(|ix| !own.contains(ix) && !told.contains(ix))
        .collect();
    prop_assert!(
        untold.is_empty(),
        "{dialect}: {untold:?} can never start, and nothing says so"
    );
    let wrong: Vec<_> = told.difference(&stuck).collect();
    prop_assert!(wrong.is_empty(), "{dialect}: {wrong:?} could start");
    Ok(())
}

/// Makes every unfinished task of a plan pending or failed, as before anything ran out of order.
fn unfinished(mut specs: Vec<Spec>) -> Vec<Spec> {
    for spec in &mut specs {
        spec.held = false;
        spec.status = if spec.status == 3 { 3 } else { 0 };
    }
    specs
}

#[test]
fn never_ready_tasks_are_found_in_a_plan_that_has_not_begun() {
    for (dialect, lifecycle) in lifecycles() {
        check_law(500, specs(6, 1), |specs| {
            check_never_ready(dialect, lifecycle, &unfinished(specs))
        });
    }
}

#[test]
fn never_ready_tasks_are_found_in_a_plan_in_progress() {
    for (dialect, lifecycle) in lifecycles() {
        check_law(1_000, specs(6, 1), |mut specs| {
            specs.iter_mut().for_each(|spec| spec.held = false);
            check_never_ready(dialect, lifecycle, &specs)
        });
    }
}
