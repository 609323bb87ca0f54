//! The rules for the text itself, before its meaning is known.

use crate::diagnostic::rules;

rules! {
    INVALID_UTF8 = "invalid-utf8", Error,
        "The file is not UTF-8.",
        "Plans are UTF-8 text. The message names the offset of the first bad byte. planwright continues with a replacement character but never writes such a file. Save it as UTF-8, or restore it if it was damaged.",
        "{\"title\": \"caf\\xE9\"}   (the byte E9 alone: Latin-1)",
        "{\"title\": \"café\"}   (C3 A9: UTF-8)";
    BINARY_FILE = "binary-file", Error,
        "The file is not text.",
        "It holds NUL bytes among bytes that are not UTF-8, so it is not a plan in any dialect. Check the path.",
        "planwright check target/debug/app",
        "planwright check .clido/plans/plan-a1b2c3d4.json";
    JSON_SYNTAX = "json-syntax", Error,
        "The JSON is malformed.",
        "The text does not follow JSON's grammar. planwright continues after it if possible, so further findings may follow from this one: fix the first and check again.",
        "{\"id\" \"t1\"}",
        "{\"id\": \"t1\"}";
    JSON_UNCLOSED = "json-unclosed", Error,
        "An object, array or string is never closed.",
        "The text ends, or another bracket closes, before this one does. A file cut off by a full disk or an output limit looks like this.",
        "{\"tasks\": [{\"id\": \"t1\"}",
        "{\"tasks\": [{\"id\": \"t1\"}]}";
    JSON_MISSING_COMMA = "json-missing-comma", Error,
        "A comma is missing between two values.",
        "Members and elements are separated by commas.",
        "[\"t1\" \"t2\"]",
        "[\"t1\", \"t2\"]";
    JSON_TRAILING_COMMA = "json-trailing-comma", Error,
        "A comma is before a closing bracket.",
        "JSON allows no trailing commas, and the tools that own these files refuse them.",
        "[\"t1\", \"t2\",]",
        "[\"t1\", \"t2\"]";
    JSON_COMMENT = "json-comment", Error,
        "A JSON file has a comment.",
        "JSON has no comments, and the tools that own these files refuse them. Keep the remark in a notes field. A fix that removes words is never a safe one.",
        "{\"id\": \"t1\" // first\n}",
        "{\"id\": \"t1\"\n}";
    JSON_QUOTES = "json-quotes", Error,
        "A key or string is not in double quotes.",
        "JSON allows only double quotes.",
        "{id: 't1'}",
        "{\"id\": \"t1\"}";
    JSON_LITERAL = "json-literal", Error,
        "A word is none of true, false and null.",
        "Python's True, False and None, NaN and undefined are not JSON.",
        "{\"skip\": False}",
        "{\"skip\": false}";
    JSON_NUMBER = "json-number", Error,
        "A number does not have JSON's form.",
        "No leading zeros, no plus sign, no hexadecimal, and a digit on both sides of the point.",
        "{\"priority\": 01}",
        "{\"priority\": 1}";
    JSON_STRING = "json-string", Error,
        "A string holds a control character or a bad escape.",
        "Line breaks and tabs are written as \\n and \\t; a backslash begins one of JSON's escapes.",
        "{\"notes\": \"C:\\dir\"}",
        "{\"notes\": \"C:\\\\dir\"}";
    JSON_SURROGATE = "json-surrogate", Error,
        "A string holds half of a surrogate pair.",
        "Escapes from \\ud800 to \\udfff come in pairs; half of one stands for no character. It usually comes from text that was cut in the middle of an emoji.",
        "{\"title\": \"\\ud83d\"}",
        "{\"title\": \"\\ud83d\\ude00\"}";
    JSON_TRAILING_TEXT = "json-trailing-text", Error,
        "Text follows the end of the JSON value.",
        "Language models often add a closing sentence. Only white space may follow the last bracket. A fix that removes words is never a safe one.",
        "{\"tasks\": []}\nHope this helps!",
        "{\"tasks\": []}";
    DUPLICATE_KEY = "duplicate-key", Error,
        "A key appears twice in one object.",
        "Tools disagree about which of the two counts, so one of them is lost silently. Keep one.",
        "{\"status\": \"pending\", \"status\": \"done\"}",
        "{\"status\": \"done\"}";
    TOO_DEEP = "too-deep", Error,
        "Values are nested too deeply.",
        "planwright reads 128 levels, and no plan needs ten. Deeper values are skipped.",
        "[[[[ … 129 levels … ]]]]",
        "[\"t1\"]";
    TOO_LARGE = "too-large", Error,
        "The file is too large.",
        "planwright reads files up to 128 MiB with up to 16 million values. Split the plan, or check that this is the right file.",
        "planwright check core.dump",
        "planwright check tasks.json";
    YAML_SYNTAX = "yaml-syntax", Error,
        "The YAML is malformed.",
        "YAML stops at the first error: what comes after it is not read. An unclosed bracket or quote is often reported further down than where it was opened.",
        "steps: [0, 1",
        "steps: [0, 1]";
    YAML_UNSUPPORTED = "yaml-unsupported", Warning,
        "The YAML uses something planwright does not read.",
        "A second document in the stream, a key that is itself a list or mapping, an alias to a part that contains it, or more aliases than a plan can need. That part is left out.",
        "id: a\n---\nid: b",
        "id: a";
}
