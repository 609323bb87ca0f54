//! The rules of conversion, import and migration.

use crate::diagnostic::rules;

rules! {
    LOST = "conversion-loss", Warning,
        "The target dialect has no field for a part of the plan.",
        "It is not in the converted plan. With an embedded original it is carried in the member `x-planwright`, comes back when the plan is converted back, and is a note.",
        "rawko `affectedFiles: [src/a.ts]`, converted to clido",
        "the same, converted with the original embedded";
    INVENTED = "conversion-invention", Note,
        "A value was invented, because the target dialect needs one.",
        "Ids, branch names, priorities, waves, times: planwright invented them. Check them before tools rely on them.",
        "clido `id: t1`, converted to Aimi",
        "`id: US-001`, which the report names";
    CHANGED = "conversion-change", Warning,
        "A part of the plan has another meaning in the target dialect.",
        "What satisfies a dependency, what a failure does, how many tasks run at once and in which order is part of a dialect, not of a file. The converted plan behaves as its new dialect does.",
        "clido: a failed task skips what depends on it",
        "Aimi: what depends on a failed story waits";
    REFUSED = "conversion-refused", Error,
        "The plan cannot be converted, imported or migrated.",
        "Nothing is written. The finding names the reason.",
        "a v2.x file of 2,000 stories in two layers, migrated: a million edges",
        "the same file in more layers";
    IMPORT_RESET = "import-reset", Note,
        "Import reset a field of the file.",
        "The identity, the times and the task states of an imported plan are those of a new plan.",
        "\"status\": \"Completed\", in a file that is imported",
        "\"status\": \"Pending\", in the stored plan";
    IMPORT_DEFAULT = "import-default", Note,
        "Import replaced a value of the wrong type by the default.",
        "The field is optional, so its value does not prevent the import.",
        "\"risks\": \"none\", in a file that is imported",
        "\"risks\": [], in the stored plan";
    MIGRATION = "migration-change", Note,
        "Migration changed more than the specification's table.",
        "Stories of equal priority are renumbered, because v3 allows each priority once. Fields at the root of a `prd.json` go into `metadata`, and missing ones are invented.",
        "v2.2: priorities 1, 2, 2, 3",
        "v3: priorities 1, 2, 3, 4";
}
