//! Tests of patches by example: a text, the patch, and the new text.

use super::*;
use crate::document::{json as json_document, yaml as yaml_document};

fn value(json: &str) -> PlainValue {
    let parsed = json_document::parse(&SourceText::new(json));
    assert!(parsed.diagnostics.is_empty(), "{json} is not JSON");
    PlainValue::of(parsed.document.root().expect("has a root"))
}

/// Reads a route from a JSON array of keys and indices.
fn route(json: &str) -> Route {
    let PlainValue::Array(steps) = value(json) else {
        panic!("{json} is not an array");
    };
    steps.iter().fold(Route::root(), |route, step| match step {
        PlainValue::String(key) => route.key(key.as_str()),
        PlainValue::Number(index) => route.index(index.parse().expect("an index")),
        other => panic!("{other:?} is no step"),
    })
}

fn set(at: &str, json: &str) -> Patch {
    Patch::ReplaceScalar {
        at: route(at),
        value: value(json),
    }
}

fn add(object: &str, key: &str, json: &str, place: MemberPosition) -> Patch {
    Patch::InsertMember {
        object: route(object),
        key: key.to_owned(),
        value: value(json),
        place,
    }
}

fn after(key: &str) -> MemberPosition {
    MemberPosition::After(key.to_owned())
}

fn remove(object: &str, key: &str) -> Patch {
    Patch::RemoveMember {
        object: route(object),
        key: key.to_owned(),
    }
}

fn rename(object: &str, key: &str, to: &str) -> Patch {
    Patch::RenameKey {
        object: route(object),
        key: key.to_owned(),
        to: to.to_owned(),
    }
}

fn insert(array: &str, index: usize, json: &str) -> Patch {
    Patch::InsertElement {
        array: route(array),
        index,
        value: value(json),
        beside: None,
    }
}

fn cut(array: &str, index: usize) -> Patch {
    Patch::RemoveElement {
        array: route(array),
        index,
    }
}

fn parse(text: &str) -> Document {
    let source = SourceText::new(text);
    if text.trim_start_matches('\u{feff}').starts_with(['{', '[']) && text.contains('"') {
        json_document::parse(&source).document
    } else {
        yaml_document::parse(&source).document
    }
}

#[track_caller]
fn check_all(text: &str, patches: &[Patch], expect: &str) {
    let patched = match patch(&parse(text), patches) {
        Ok(patched) => patched,
        Err(refusal) => {
            let edits = lower(&parse(text), patches).and_then(|edits| apply(&SourceText::new(text), &edits));
            panic!("{refusal:?} for {text:?}: {edits:?}");
        }
    };
    assert_eq!(patched, expect, "from {text:?}");
}

/// Checks one patch in the text as given and in the same text with CRLF.
#[track_caller]
fn check(text: &str, patch: Patch, expect: &str) {
    let patches = [patch];
    check_all(text, &patches, expect);
    if text.contains('\n') && !text.contains('\r') {
        check_all(&text.replace('\n', "\r\n"), &patches, &expect.replace('\n', "\r\n"));
    }
}

#[track_caller]
fn check_refused(text: &str, patch: Patch, expect: &str) {
    let refusal = self::patch(&parse(text), &[patch]).expect_err("is refused");
    assert_eq!(refusal.to_string(), expect, "for {text:?}");
}

const JSON: &str = "{\n  \"id\": 1,\n  \"tasks\": [\n    {\n      \"id\": \"a\",\n      \"deps\": []\n    },\n    {\n      \"id\": \"b\",\n      \"deps\": [\"a\"]\n    }\n  ],\n  \"end\": {}\n}\n";

#[test]
fn json_on_one_line_keeps_the_space_inside_brackets() {
    check(
        "[\n  { \"a\": 1, \"b\": [2] }\n]",
        insert("[]", 1, "{\"a\": 3, \"b\": [4, 5]}"),
        "[\n  { \"a\": 1, \"b\": [2] },\n  { \"a\": 3, \"b\": [4, 5] }\n]",
    );
    check(
        "[{\"a\": 1}]",
        insert("[]", 1, "{\"a\": 2}"),
        "[{\"a\": 1}, {\"a\": 2}]",
    );
}

#[test]
fn json_scalars_are_replaced_in_place() {
    check(
        "{\"a\": 1 , \"b\" : [true]}",
        set("[\"a\"]", "\"x\\\"y\""),
        "{\"a\": \"x\\\"y\" , \"b\" : [true]}",
    );
    check(
        "{\"a\": 1 , \"b\" : [true]}",
        set("[\"b\", 0]", "null"),
        "{\"a\": 1 , \"b\" : [null]}",
    );
    check("[\"a\"]", set("[0]", "{\"b\": [1, 2]}"), "[{\"b\": [1, 2]}]");
    check("{\"a\":\"b\"}", set("[\"a\"]", "{\"c\":1}"), "{\"a\":{\"c\":1}}");
    check(
        "\u{feff}{\n\t\"a\": \"é\"\n}",
        set("[\"a\"]", "[1]"),
        "\u{feff}{\n\t\"a\": [\n\t\t1\n\t]\n}",
    );
}

#[test]
fn json_members_copy_their_neighbours_layout() {
    check(
        "{\"a\": 1, \"b\": 2}",
        add("[]", "c", "3", MemberPosition::Last),
        "{\"a\": 1, \"b\": 2, \"c\": 3}",
    );
    check(
        "{\"a\": 1, \"b\": 2}",
        add("[]", "c", "3", MemberPosition::First),
        "{\"c\": 3, \"a\": 1, \"b\": 2}",
    );
    check(
        "{\"a\":1,\"b\":2}",
        add("[]", "c", "[3]", after("a")),
        "{\"a\":1,\"c\":[3],\"b\":2}",
    );
    check(
        "{\"a\":1}",
        add("[]", "c", "{\"d\": [3, 4]}", MemberPosition::Last),
        "{\"a\":1,\"c\":{\"d\":[3,4]}}",
    );
    check(
        "{\n  \"a\": 1\n}",
        add("[]", "c", "3", MemberPosition::Last),
        "{\n  \"a\": 1,\n  \"c\": 3\n}",
    );
    check(
        "{\n  \"a\": 1\n}",
        add("[]", "c", "{\"d\": [1]}", MemberPosition::First),
        "{\n  \"c\": {\n    \"d\": [\n      1\n    ]\n  },\n  \"a\": 1\n}",
    );
    check(
        "{ \"a\": {} }",
        add("[\"a\"]", "b", "1", MemberPosition::Last),
        "{ \"a\": {\"b\": 1} }",
    );
    check(
        "{\n    \"a\": {}\n}",
        add("[\"a\"]", "b", "1", MemberPosition::Last),
        "{\n    \"a\": {\n        \"b\": 1\n    }\n}",
    );
}

#[test]
fn json_elements_copy_their_neighbours_layout() {
    check(
        JSON,
        insert("[\"tasks\", 0, \"deps\"]", 0, "\"z\""),
        &JSON.replace("[]", "[\"z\"]"),
    );
    check(
        JSON,
        insert("[\"tasks\", 1, \"deps\"]", 1, "\"z\""),
        &JSON.replace("[\"a\"]", "[\"a\", \"z\"]"),
    );
    let task = "    {\n      \"id\": \"c\",\n      \"deps\": [\"b\"]\n    }";
    check(
        JSON,
        insert("[\"tasks\"]", 2, "{\"id\": \"c\", \"deps\": [\"b\"]}"),
        &JSON.replace("    }\n  ],", &format!("    }},\n{task}\n  ],")),
    );
    let task = task.replace("[\"b\"]", "[]");
    check(
        JSON,
        insert("[\"tasks\"]", 0, "{\"id\": \"c\", \"deps\": []}"),
        &JSON.replace(
            "[\n    {\n      \"id\": \"a\"",
            &format!("[\n{task},\n    {{\n      \"id\": \"a\""),
        ),
    );
}

#[test]
fn json_removal_takes_the_comma_along() {
    check(
        "{\"a\": 1, \"b\": 2, \"c\": 3}",
        remove("[]", "a"),
        "{\"b\": 2, \"c\": 3}",
    );
    check(
        "{\"a\": 1, \"b\": 2, \"c\": 3}",
        remove("[]", "b"),
        "{\"a\": 1, \"c\": 3}",
    );
    check(
        "{\"a\": 1, \"b\": 2, \"c\": 3}",
        remove("[]", "c"),
        "{\"a\": 1, \"b\": 2}",
    );
    check("{\"a\": [ 1 ]}", cut("[\"a\"]", 0), "{\"a\": []}");
    check("{\n  \"a\": 1,\n  \"b\": 2\n}", remove("[]", "b"), "{\n  \"a\": 1\n}");
    check("{\n  \"a\": 1,\n  \"b\": 2\n}", remove("[]", "a"), "{\n  \"b\": 2\n}");
}

#[test]
fn many_changes_of_one_collection_are_made_at_once() {
    let text = "[\"a\", \"b\", \"c\", \"d\"]";
    check_all(text, &[cut("[]", 0), cut("[]", 2)], "[\"b\", \"d\"]");
    check_all(text, &[cut("[]", 2), cut("[]", 3)], "[\"a\", \"b\"]");
    check_all(
        text,
        &[insert("[]", 1, "1"), insert("[]", 1, "2"), cut("[]", 0)],
        "[1, 2, \"b\", \"c\", \"d\"]",
    );
    check_all(text, &[insert("[]", 4, "1"), cut("[]", 3)], "[\"a\", \"b\", \"c\", 1]");
    check_all("[\"a\"]", &[insert("[]", 0, "1"), cut("[]", 0)], "[1]");
    let text = "{\"a\": 1, \"b\": 2}";
    check_all(
        text,
        &[remove("[]", "b"), add("[]", "b", "{}", after("a"))],
        "{\"a\": 1, \"b\": {}}",
    );
    check_all(
        text,
        &[rename("[]", "a", "c"), set("[\"a\"]", "3")],
        "{\"c\": 3, \"b\": 2}",
    );
    let text = "a: 1\nb: 2\nc: 3";
    check_all(text, &[remove("[]", "b"), remove("[]", "c")], "a: 1");
    check_all(
        text,
        &[remove("[]", "c"), add("[]", "d", "4", MemberPosition::Last)],
        "a: 1\nb: 2\nd: 4",
    );
    check_all(
        text,
        &[remove("[]", "a"), add("[]", "d", "4", MemberPosition::First)],
        "d: 4\nb: 2\nc: 3",
    );
    check_all(
        text,
        &[
            remove("[]", "a"),
            remove("[]", "b"),
            remove("[]", "c"),
            add("[]", "d", "4", MemberPosition::Last),
        ],
        "d: 4",
    );
}

#[test]
fn embedded_json_is_edited_where_it_stands() {
    let text = "# T\n```json\n{\"a\": 1}\n```\nend {\n";
    let source = SourceText::new(text);
    let document = json_document::parse_span(&source, Span::new(12, 21)).document;
    let patched = patch(&document, &[add("[]", "b", "2", MemberPosition::Last)]).expect("is patched");
    assert_eq!(patched, "# T\n```json\n{\"a\": 1, \"b\": 2}\n```\nend {\n");
}

#[test]
fn embedded_yaml_is_edited_where_it_stands() {
    let text = "---\na: 1\n---\nend: [\n";
    let source = SourceText::new(text);
    let document = yaml_document::parse_span(&source, Span::new(4, 9)).document;
    let patched = patch(&document, &[add("[]", "b", "\"x\\ny\\n\"", MemberPosition::Last)]).expect("is patched");
    assert_eq!(patched, "---\na: 1\nb: |\n  x\n  y\n---\nend: [\n");
}

#[test]
fn yaml_scalars_keep_their_style() {
    check("a: b # c\n", set("[\"a\"]", "\"x y\""), "a: x y # c\n");
    check("a: b # c\n", set("[\"a\"]", "\"x: y\""), "a: \"x: y\" # c\n");
    check("a: b\n", set("[\"a\"]", "\"true\""), "a: \"true\"\n");
    check("a: b\nc: 'd'\n", set("[\"a\"]", "\"12\""), "a: '12'\nc: 'd'\n");
    check("a: 1\n", set("[\"a\"]", "2"), "a: 2\n");
    check("a: 'b' # c\n", set("[\"a\"]", "\"it's\""), "a: 'it''s' # c\n");
    check("a: 'b'\n", set("[\"a\"]", "\"x\\ny\""), "a: \"x\\ny\"\n");
    check("a: \"b\"\n", set("[\"a\"]", "\"x\\ty\\\\\""), "a: \"x\\ty\\\\\"\n");
    check("a: \"b\"\n", set("[\"a\"]", "null"), "a: null\n");
    check("a: b\n  c\nd: e\n", set("[\"a\"]", "\"f\""), "a: f\nd: e\n");
    check("- [b, 'c']\n", set("[0, 0]", "\"x, y\""), "- ['x, y', 'c']\n");
    check("a: b\n", set("[\"a\"]", "[1, {\"c\": \"d\"}]"), "a: [1, {c: d}]\n");
    check("a: b\n", set("[\"a\"]", "\"no\""), "a: \"no\"\n");
    check("a: b", set("[\"a\"]", "\"- x\""), "a: \"- x\"");
}

#[test]
fn yaml_values_left_out_are_filled_in() {
    check("a:\nb: 1\n", set("[\"a\"]", "\"x\""), "a: x\nb: 1\n");
    check("a: # c\n", set("[\"a\"]", "3"), "a: 3 # c\n");
    check("- \n- a\n", set("[0]", "3"), "- 3 \n- a\n");
    check("{a, b: , c: }\n", set("[\"a\"]", "1"), "{a: 1, b: , c: }\n");
    check("{a, b: , c: }\n", set("[\"b\"]", "1"), "{a, b: 1 , c: }\n");
    check("a:\n", insert("[\"a\"]", 0, "1"), "a:\n  - 1\n");
    check(
        "a: # c\nb: 1\n",
        add("[\"a\"]", "k", "1", MemberPosition::Last),
        "a: # c\n  k: 1\nb: 1\n",
    );
    check("-\n- 1\n", add("[0]", "k", "1", MemberPosition::Last), "- k: 1\n- 1\n");
    check("---\n", add("[]", "k", "[1]", MemberPosition::Last), "---\nk:\n  - 1\n");
    check("{a: }\n", insert("[\"a\"]", 0, "1"), "{a: [1] }\n");
}

#[test]
fn yaml_block_scalars_stay_block_scalars() {
    check(
        "a: |\n  x\n  y\nb: 1\n",
        set("[\"a\"]", "\"p\\n\\nq\\n\""),
        "a: |\n  p\n\n  q\nb: 1\n",
    );
    check(
        "a: |-\n    x\nb: 1\n",
        set("[\"a\"]", "\"p\\nq\""),
        "a: |-\n    p\n    q\nb: 1\n",
    );
    check(
        "a: | # c\n  x\nb: 1\n",
        set("[\"a\"]", "\"p\""),
        "a: |- # c\n  p\nb: 1\n",
    );
    check("a: | # c\n  x\nb: 1\n", set("[\"a\"]", "3"), "a: 3 # c\nb: 1\n");
    check(
        "a: >\n  x\n  y\n\nb: 1\n",
        set("[\"a\"]", "\"p\\nq\\n\\nr\\n\""),
        "a: >\n  p\n\n  q\n\n\n  r\n\nb: 1\n",
    );
    check("- |+\n  x\n\n- y\n", set("[0]", "\"z\""), "- |-\n  z\n- y\n");
    check(
        "- |+\n  x\n\n- y\n",
        set("[0]", "\"z\\n\\n\\n\""),
        "- |+\n  z\n\n\n- y\n",
    );
    check("- |+\n  x\n\n- y\n", set("[0]", "true"), "- true\n- y\n");
    check("a: |\n  x\n", set("[\"a\"]", "\"  p\\n\""), "a: \"  p\\n\"\n");
    check("a: |\n  x\n", set("[\"a\"]", "\"\""), "a: \"\"\n");
    check(
        "a:\n  b: |2\n     x\n",
        set("[\"a\", \"b\"]", "\"p\\n q\\n\""),
        "a:\n  b: |\n    p\n     q\n",
    );
}

#[test]
fn yaml_block_scalars_at_the_end_of_a_file_keep_their_value() {
    // Without a line break at the end of the file the value has none.
    check(
        "a: |\n  x",
        add("[]", "b", "1", MemberPosition::Last),
        "a: |-\n  x\nb: 1",
    );
    check(
        "a: |+ # c\n  x",
        add("[]", "b", "1", MemberPosition::Last),
        "a: |- # c\n  x\nb: 1",
    );
    check(
        "a: >2-\n  x",
        add("[]", "b", "1", MemberPosition::Last),
        "a: >2-\n  x\nb: 1",
    );
    check("- a: >\n    x", insert("[]", 1, "{\"a\": 2}"), "- a: >-\n    x\n- a: 2");
    check("a: |\n  x", set("[\"a\"]", "\"y\""), "a: |-\n  y");
    check("a: |\n  x", set("[\"a\"]", "\"y\\n\""), "a: |\n  y\n");
    check("a: |\n  x", set("[\"a\"]", "\"x\""), "a: |\n  x");
    check(
        "a: 1",
        add("[]", "b", "{\"c\": \"x\\ny\\n\"}", MemberPosition::Last),
        "a: 1\nb:\n  c: |\n    x\n    y\n",
    );
    check(
        "a:",
        add("[\"a\"]", "b", "\"x\\ny\\n\"", MemberPosition::Last),
        "a:\n  b: |\n    x\n    y\n",
    );
    check(
        "- 1\n- b: []",
        insert("[1, \"b\"]", 0, "{\"c\": \"x\\ny\\n\"}"),
        "- 1\n- b:\n    - c: |\n        x\n        y\n",
    );
    // What follows goes, and the line break of the text stays.
    check("a: |\n  x\nb: 1", remove("[]", "b"), "a: |\n  x\n");
    check("- a: |\n    x\n- b\n- c", cut("[]", 1), "- a: |\n    x\n- c");
    check_all(
        "- a: |\n    x\n- b\n- c",
        &[cut("[]", 1), cut("[]", 2)],
        "- a: |\n    x\n",
    );
    check("a: |-\n  x\nb: 1", remove("[]", "b"), "a: |-\n  x");
    check("a: |+\n  x\n\nb: 1", remove("[]", "b"), "a: |+\n  x\n\n");
}

#[test]
fn yaml_members_are_added_on_lines_of_their_own() {
    check(
        "a: 1 # x\n\n# y\nb: 2\n",
        add("[]", "c", "3", after("a")),
        "a: 1 # x\nc: 3\n\n# y\nb: 2\n",
    );
    check(
        "a: 1\nb: 2",
        add("[]", "c", "3", MemberPosition::Last),
        "a: 1\nb: 2\nc: 3",
    );
    check(
        "# top\na: 1\n",
        add("[]", "c", "3", MemberPosition::First),
        "# top\nc: 3\na: 1\n",
    );
    check(
        "- a: 1\n",
        add("[0]", "c", "3", MemberPosition::First),
        "- c: 3\n  a: 1\n",
    );
    check(
        "-   a: 1\n",
        add("[0]", "c", "3", MemberPosition::Last),
        "-   a: 1\n    c: 3\n",
    );
    check(
        "a: |\n  x\n\nb: 1\n",
        add("[]", "c", "3", after("a")),
        "a: |\n  x\nc: 3\n\nb: 1\n",
    );
    check(
        "a: |+\n  x\n\nb: 1\n",
        add("[]", "c", "3", after("a")),
        "a: |+\n  x\n\nc: 3\nb: 1\n",
    );
    check(
        "a:\n  b: 1\nc: 2\n",
        add(
            "[\"a\"]",
            "d",
            "{\"e\": [1, {\"f\": 2, \"g\": []}]}",
            MemberPosition::Last,
        ),
        "a:\n  b: 1\n  d:\n    e:\n      - 1\n      - f: 2\n        g: []\nc: 2\n",
    );
    check(
        "a:\n- 1\n",
        add("[]", "b", "[2]", MemberPosition::Last),
        "a:\n- 1\nb:\n- 2\n",
    );
    check(
        "- d: [1]\n- e: 2\n",
        add("[1]", "d", "[3]", MemberPosition::Last),
        "- d: [1]\n- e: 2\n  d: [3]\n",
    );
    check(
        "\"a\": 1\n",
        add("[]", "b", "2", MemberPosition::Last),
        "\"a\": 1\n\"b\": 2\n",
    );
    check(
        "a: 1\n",
        add("[]", "x y: z", "\"p\\nq\"", MemberPosition::Last),
        "a: 1\n\"x y: z\": |-\n  p\n  q\n",
    );
    check(
        "a: 1",
        add("[]", "b", "\"p\\n\"", MemberPosition::Last),
        "a: 1\nb: |\n  p\n",
    );
    check(
        "- a: 'x'\n- b: 1\n",
        add("[1]", "a", "\"y\"", MemberPosition::Last),
        "- a: 'x'\n- b: 1\n  a: 'y'\n",
    );
}

#[test]
fn yaml_elements_are_added_like_their_neighbours() {
    check(
        "a:\n  - 1\n  - 2\n",
        insert("[\"a\"]", 1, "9"),
        "a:\n  - 1\n  - 9\n  - 2\n",
    );
    check("a:\n- 1\nb: 2\n", insert("[\"a\"]", 1, "9"), "a:\n- 1\n- 9\nb: 2\n");
    check("a:\n- 1\nb: 2\n", insert("[\"a\"]", 0, "9"), "a:\n- 9\n- 1\nb: 2\n");
    check("- - 1\n  - 2\n", insert("[0]", 0, "9"), "- - 9\n  - 1\n  - 2\n");
    check(
        "- a: 1\n  b: 2\n",
        insert("[]", 1, "{\"a\": 3, \"b\": [4]}"),
        "- a: 1\n  b: 2\n- a: 3\n  b:\n    - 4\n",
    );
    check("- {a: 1}\n", insert("[]", 1, "{\"a\": 3}"), "- {a: 1}\n- {a: 3}\n");
    check("-   1\n", insert("[]", 1, "[2]"), "-   1\n-   - 2\n");
    check("a: [1, 2] # c\n", insert("[\"a\"]", 2, "\"x\""), "a: [1, 2, x] # c\n");
    check("a: []\n", insert("[\"a\"]", 0, "\"x\""), "a: [x]\n");
    check(
        "a: [] # c\nb: 1\n",
        insert("[\"a\"]", 0, "{\"x\": 1, \"z\": 2}"),
        "a: # c\n  - x: 1\n    z: 2\nb: 1\n",
    );
    check(
        "- d: []\n- d:\n  - 1\n",
        insert("[0, \"d\"]", 0, "2"),
        "- d:\n  - 2\n- d:\n  - 1\n",
    );
    check(
        "[\n  a, # x\n  b # y\n]\n",
        insert("[]", 2, "\"c\""),
        "[\n  a, # x\n  b, # y\n  c\n]\n",
    );
    check("[ # x\n]\n", insert("[]", 0, "\"c\""), "[ # x\nc]\n");
    check("{a: 1}\n", add("[]", "b", "2", MemberPosition::Last), "{a: 1, b: 2}\n");
    check(
        "{\"a\":1, \"b\":2}\n",
        add("[]", "c", "3", MemberPosition::Last),
        "{\"a\":1, \"b\":2, \"c\":3}\n",
    );
}

#[test]
fn yaml_removal_keeps_the_comments_of_neighbours() {
    check(
        "a: 1 # x\n# y\nb: 2 # z\nc: 3\n",
        remove("[]", "a"),
        "# y\nb: 2 # z\nc: 3\n",
    );
    check(
        "a: 1 # x\n# y\nb: 2 # z\nc: 3\n",
        remove("[]", "b"),
        "a: 1 # x\n# y\nc: 3\n",
    );
    check("a: 1\nb:\n  c: 2\n\n# end\n", remove("[]", "b"), "a: 1\n\n# end\n");
    check("a: 1\nb: 2", remove("[]", "b"), "a: 1");
    check("- a: 1\n  # x\n  b: 2\n", remove("[0]", "a"), "- # x\n  b: 2\n");
    check("- a: 1 # x\n  b: 2\n", remove("[0]", "a"), "- b: 2\n");
    check("- 1\n- - 2\n  - 3\n- 4\n", cut("[]", 1), "- 1\n- 4\n");
    check("- 1\n- - 2\n  - 3\n- 4\n", cut("[1]", 0), "- 1\n- - 3\n- 4\n");
    check("a: |+\n  x\n\nb: 1\n", remove("[]", "a"), "b: 1\n");
    check("a: |\n  x\n\nb: 1\n", remove("[]", "b"), "a: |\n  x\n\n");
    check("[a, # x\n  # y\n  b]\n", cut("[]", 0), "[ # y\n  b]\n");
    check("[\n  a, # x\n  b # y\n]\n", cut("[]", 1), "[\n  a, # x\n]\n");
    check(
        "[\n  a, # x\n  # z\n  b # y\n  # end\n]\n",
        cut("[]", 1),
        "[\n  a, # x\n  # z\n  # end\n]\n",
    );
    check("[a, b # y\n]\n", cut("[]", 1), "[a,  # y\n]\n");
}

#[test]
fn yaml_collections_that_become_empty_are_written_as_brackets() {
    check("a:\n  b: 1 # x\nc: 2\n", remove("[\"a\"]", "b"), "a: {}\nc: 2\n");
    check("a: # x\n- 1\n", cut("[\"a\"]", 0), "a: [] # x\n");
    check("- a: 1\n", remove("[0]", "a"), "- {}\n");
    check("a: 1 # x\n", remove("[]", "a"), "{} # x\n");
    check("a:\n  - 1", cut("[\"a\"]", 0), "a: []");
    check("a: [ 1 ]\n", cut("[\"a\"]", 0), "a: []\n");
}

#[test]
fn yaml_keys_are_renamed_in_their_style() {
    check("a: 1\n", rename("[]", "a", "b c"), "b c: 1\n");
    check("\"a\": 1\n", rename("[]", "a", "b\"c"), "\"b\\\"c\": 1\n");
    check("'a': 1\n", rename("[]", "a", "b"), "'b': 1\n");
    check("a: 1\n", rename("[]", "a", "true"), "\"true\": 1\n");
    check("a: 1\n", rename("[]", "a", "<<"), "\"<<\": 1\n");
    check("{a: 1}\n", rename("[]", "a", "b,c"), "{\"b,c\": 1}\n");
}

#[test]
fn unsafe_patches_are_refused() {
    let through_alias = "the place is reached through a YAML alias";
    let decorated = "the place has an anchor, a tag or an explicit key";
    let merged = "the mapping takes members from another one by a merge key";
    check_refused("a: &x\n  b: 1\nc: *x\n", set("[\"c\", \"b\"]", "2"), through_alias);
    check_refused("a: &x\n  b: 1\nc: *x\n", set("[\"c\"]", "2"), through_alias);
    check_refused("a: &x\n  b: 1\nc: *x\n", set("[\"a\", \"b\"]", "2"), decorated);
    check_refused("a: &x\n  b: 1\nc: *x\n", remove("[]", "a"), decorated);
    check_refused("a: &x 1\nc: *x\n", remove("[]", "c"), through_alias);
    check_refused("a: !!str 1\n", set("[\"a\"]", "2"), decorated);
    check_refused("? a\n: 1\n", set("[\"a\"]", "2"), decorated);
    check_refused(
        "a: &x {b: 1}\nc:\n  <<: *x\n  d: 2\n",
        set("[\"c\", \"b\"]", "2"),
        merged,
    );
    check_refused("a: &x {b: 1}\nc:\n  <<: *x\n  d: 2\n", remove("[\"c\"]", "d"), merged);
    check_refused(
        "a: 1\n---\nb: 2\n",
        set("[\"a\"]", "2"),
        "the file holds more than one YAML document",
    );
    check_refused(
        "a:\t1\n",
        set("[\"a\"]", "2"),
        "tabs indent or separate parts of the YAML text: use spaces",
    );
    check_refused(
        "a: [1\n",
        set("[\"a\"]", "2"),
        "the text has syntax errors: fix them first",
    );
    check_refused(
        "{\"a\": 1,}",
        set("[\"a\"]", "2"),
        "the text has syntax errors: fix them first",
    );
    check_refused("a: 1\n", set("[\"b\", 0]", "2"), "there is no `b[0]`");
    check_refused("a: [1]\n", set("[\"a\"]", "2"), "expected a scalar, found a list");
    check_refused("a: 1\n", insert("[\"a\"]", 0, "2"), "expected an array, found a number");
    check_refused(
        "a: 1\n",
        add("[]", "a", "2", MemberPosition::Last),
        "the key `a` is already there",
    );
    check_refused("a: 1\nb: 2\n", rename("[]", "a", "b"), "the key `b` is already there");
    check_refused("a: 1\na: 2\n", set("[\"a\"]", "2"), "the key `a` appears twice");
    check_refused("[\"a\"]", cut("[]", 1), "there is no element 1: the list has 1");
    check_refused("[\"a\"]", insert("[]", 2, "1"), "there is no element 2: the list has 1");
    check_refused(
        "a: [b: 1]\n",
        add("[\"a\", 0]", "c", "2", MemberPosition::Last),
        "the pair has no braces of its own",
    );
    let overlapping = patch(&parse("[\"a\", [1]]"), &[cut("[]", 1), set("[1, 0]", "2")]);
    assert!(matches!(overlapping, Err(PatchRefusal::Overlap(_))));
    let damaged = json_document::parse(&SourceText::from_bytes(b"[\"\xff\"]".to_vec())).document;
    assert!(matches!(
        patch(&damaged, &[cut("[]", 0)]),
        Err(PatchRefusal::Damaged(_))
    ));
}

#[test]
fn edits_that_do_not_fit_the_text_are_refused() {
    let source = SourceText::new("aéb");
    let edit = |start: usize, end: usize| Replacement::new(Span::new(start, end), "x");
    assert_eq!(apply(&source, &[edit(1, 3), edit(0, 1)]), Ok("xxb".to_owned()));
    assert_eq!(apply(&source, &[edit(1, 1), edit(1, 1)]), Ok("axxéb".to_owned()));
    assert!(matches!(
        apply(&source, &[edit(0, 2)]),
        Err(PatchRefusal::OutOfRange(_))
    ));
    assert!(matches!(
        apply(&source, &[edit(4, 5)]),
        Err(PatchRefusal::OutOfRange(_))
    ));
    assert!(matches!(
        apply(&source, &[edit(0, 3), edit(1, 3)]),
        Err(PatchRefusal::Overlap(_))
    ));
}

#[test]
fn setting_an_equal_value_changes_nothing() {
    check("a: |\n  x\n", set("[\"a\"]", "\"x\\n\""), "a: |\n  x\n");
    check("{\"a\": \"\\u0062\"}", set("[\"a\"]", "\"b\""), "{\"a\": \"\\u0062\"}");
    check_all("a: 1 \n", &[], "a: 1 \n");
}
