//! The rules that only OpenCrabs plans have.

use crate::diagnostic::rules;

rules! {
    UNDOCUMENTED_TYPE = "opencrabs-undocumented-type", Warning,
        "A task type is one that OpenCrabs reads but does not document.",
        "`refactor` and `build` work in some versions only. The documented types are research, edit, create, delete, test, documentation and configuration.",
        "\"task_type\": \"refactor\"",
        "\"task_type\": \"edit\"";
    EMPTY_DEPENDENCIES = "opencrabs-empty-dependencies", Note,
        "An empty list of dependencies is redundant.",
        "OpenCrabs asks for the field to be left out if there are none.",
        "\"dependencies\": []",
        "(no field at all)";
    GENERATED_FIELD = "opencrabs-generated-field", Note,
        "The import form gives a field that import overwrites.",
        "Ids, order, status and times are generated. Leave them out of files to import.",
        "{\"title\": \"…\", \"description\": \"…\", \"task_type\": \"edit\", \"order\": 1}",
        "{\"title\": \"…\", \"description\": \"…\", \"task_type\": \"edit\"}";
    DUPLICATE_ORDER = "opencrabs-duplicate-order", Error,
        "Two tasks have the same order.",
        "Integer dependencies mean these numbers, so a number must mean one task.",
        "\"order\": 1 … \"order\": 1",
        "\"order\": 1 … \"order\": 2";
    ORDER_DIFFERS = "opencrabs-order-differs", Warning,
        "The order values differ from the places in the list.",
        "Integer dependencies then mean the order values. Import renumbers the tasks by their places and updates references.",
        "first task: \"order\": 2, second task: \"order\": 1",
        "first task: \"order\": 1, second task: \"order\": 2";
}
