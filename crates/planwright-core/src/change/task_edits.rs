//! The edits of a plan's list of tasks, as data.

/// One edit of a plan's tasks, which are named by their index.
#[derive(Clone, Debug)]
pub enum Edit<'a> {
    /// Adds a task.
    Add(NewTask<'a>),
    /// Gives a field a value.
    Set {
        /// Its index in the plan.
        task_ix: usize,
        /// The field, by the dialect's own name.
        key: &'a str,
        /// The value as typed; none removes the field.
        value: Option<&'a str>,
    },
    /// Removes a task.
    Remove {
        /// Its index in the plan.
        task_ix: usize,
        /// Whether to remove it from the dependencies of other tasks first.
        detach: bool,
    },
    /// Moves a task in the list.
    Move {
        /// Its index in the plan.
        task_ix: usize,
        /// The new index.
        to: usize,
    },
    /// Gives a task another id, and updates references.
    Rename {
        /// Its index in the plan.
        task_ix: usize,
        /// The new id.
        to: &'a str,
    },
    /// Makes a task depend on others.
    Depend {
        /// Its index in the plan.
        task_ix: usize,
        /// The indexes of the other tasks.
        on: Vec<usize>,
    },
    /// Adds the line that says that the file is a plan.
    Adopt {
        /// The order of tasks; none for the usual one.
        order: Option<&'a str>,
    },
    /// Makes a task independent of others.
    Undepend {
        /// Its index in the plan.
        task_ix: usize,
        /// The indexes of the other tasks.
        on: Vec<usize>,
    },
}

impl Edit<'_> {
    /// Returns the index of a task after the edit; none for a removed one.
    pub fn new_index(&self, task_ix: usize) -> Option<usize> {
        match *self {
            Edit::Add(ref new) => Some(task_ix + usize::from(task_ix >= new.at)),
            Edit::Remove { task_ix: gone, .. } => (task_ix != gone).then(|| task_ix - usize::from(task_ix > gone)),
            Edit::Move { task_ix: moved, to } if task_ix == moved => Some(to),
            Edit::Move { task_ix: moved, to } if moved < task_ix && task_ix <= to => Some(task_ix - 1),
            Edit::Move { task_ix: moved, to } if to <= task_ix && task_ix < moved => Some(task_ix + 1),
            _ => Some(task_ix),
        }
    }

    /// Returns the indexes of tasks that must exist.
    pub(super) fn places(&self) -> Vec<usize> {
        match self {
            Edit::Add(new) => new.on.clone(),
            Edit::Adopt { .. } => Vec::new(),
            Edit::Set { task_ix, .. }
            | Edit::Remove { task_ix, .. }
            | Edit::Move { task_ix, .. }
            | Edit::Rename { task_ix, .. } => vec![*task_ix],
            Edit::Depend { task_ix, on } | Edit::Undepend { task_ix, on } => {
                on.iter().copied().chain([*task_ix]).collect()
            }
        }
    }
}

/// A new task.
#[derive(Clone, Debug)]
pub struct NewTask<'a> {
    /// Its id; by default, the dialect's rule creates one.
    pub id: Option<&'a str>,
    /// Its title.
    pub title: &'a str,
    /// Other fields, by the dialect's own names, as typed.
    pub fields: &'a [(&'a str, &'a str)],
    /// The indexes of its dependencies.
    pub on: Vec<usize>,
    /// Its index in the list.
    pub at: usize,
    /// The task that it is placed next to, and whose group it joins; none for the end of the list.
    pub beside: Option<usize>,
    /// The task whose place and id it takes: the placeholder of a new plan.
    pub replaces: Option<usize>,
    /// A new UUID, for dialects with UUIDs as ids.
    pub minted: &'a str,
}
