//! The rules of conversion, import and migration.

use crate::diagnostic::rules;

rules! {
    LOST = "conversion-loss", Warning,
        "The target dialect cannot hold something that the plan says.",
        "It is not in the converted plan. With an embedded original it is carried in the member `x-planwright`, comes back when the plan is converted back, and is a note.",
        "rawko `affectedFiles: [src/a.ts]`, converted to clido",
        "the same, converted with the original embedded";
    INVENTED = "conversion-invention", Note,
        "A value was made up, because the target dialect needs one.",
        "Ids, branch names, priorities, waves, times: planwright made them up. Look at them before tools rely on them.",
        "clido `id: t1`, converted to Aimi",
        "`id: US-001`, which the report names";
    CHANGED = "conversion-change", Warning,
        "Something means something else in the target dialect.",
        "What satisfies a dependency, what a failure does, how many tasks run at once and in which order is part of a dialect, not of a file. The converted plan behaves as its new dialect does.",
        "clido: a failed task skips what depends on it",
        "Aimi: what depends on a failed story waits";
    REFUSED = "conversion-refused", Error,
        "The plan cannot be converted, imported or migrated.",
        "Nothing is written. The finding says what stands in the way.",
        "a v2.x file of 2,000 stories in two layers, migrated: a million edges",
        "the same file in more layers";
    IMPORT_RESET = "import-reset", Note,
        "Import made a field anew that the file gives.",
        "An imported plan begins again: its identity, its times and the state of its tasks are those of a new plan.",
        "\"status\": \"Completed\", in a file that is imported",
        "\"status\": \"Pending\", in the stored plan";
    IMPORT_DEFAULT = "import-default", Note,
        "Import put a default in place of a value of the wrong type.",
        "The field is optional, so that its value does not stand in the way of the import.",
        "\"risks\": \"none\", in a file that is imported",
        "\"risks\": [], in the stored plan";
    MIGRATION = "migration-change", Note,
        "Migration changed more than the specification's table says.",
        "Stories of equal priority are numbered anew, because v3 wants every priority once. What a `prd.json` keeps at its root goes into `metadata`, and what it lacks is made up.",
        "v2.2: priorities 1, 2, 2, 3",
        "v3: priorities 1, 2, 3, 4";
}
