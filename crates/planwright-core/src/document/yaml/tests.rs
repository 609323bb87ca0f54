//! Tests of YAML documents by example.

use super::*;

/// Returns each row as its kind and slice, and its value if that differs; then the findings.
fn outline(text: &str) -> Vec<String> {
    let parsed = parse(&SourceText::new(text));
    let show_row = |node: crate::document::NodeRef<'_>| {
        let row = format!("{:?} {}", node.kind(), node.slice());
        match node.text() {
            Some(value) if node.verbatim().is_none() => format!("{row} = {value}"),
            _ => row,
        }
    };
    let findings = parsed.diagnostics.iter().map(|finding| {
        let span = finding.span.unwrap_or_default();
        let related: String = finding
            .related
            .iter()
            .map(|place| format!(" {:?}", place.span))
            .collect();
        format!("{} {span:?}{related}", finding.rule.id)
    });
    parsed.document.nodes().map(show_row).chain(findings).collect()
}

#[track_caller]
fn check(text: &str, expect: &[&str]) {
    assert_eq!(outline(text), expect, "rows of {text:?}");
}

#[track_caller]
fn features(text: &str) -> Features {
    parse(&SourceText::new(text)).document.features().clone()
}

#[test]
fn block_collections_run_from_first_key_or_dash_to_last_child() {
    check(
        "a: 1 # x\nb:\n  - c: d\n    e: f\n\n# end\n",
        &[
            "Object a: 1 # x\nb:\n  - c: d\n    e: f",
            "Key a",
            "Number 1",
            "Key b",
            "Array - c: d\n    e: f",
            "Object c: d\n    e: f",
            "Key c",
            "String d",
            "Key e",
            "String f",
        ],
    );
}

#[test]
fn lists_that_are_not_indented_begin_at_their_dash() {
    check(
        "a: # - x\n- # - y\n  z\n-\n- - p\n",
        &[
            "Object a: # - x\n- # - y\n  z\n-\n- - p",
            "Key a",
            "Array - # - y\n  z\n-\n- - p",
            "String z",
            "Null ",
            "Array - p",
            "String p",
        ],
    );
}

#[test]
fn byte_spans_survive_byte_order_mark_crlf_and_comments() {
    check(
        "\u{feff}a: \"é\"   # c\r\nb:\r\n- 'ü' # d\r\n",
        &[
            "Object a: \"é\"   # c\r\nb:\r\n- 'ü'",
            "Key a",
            "String \"é\"",
            "Key b",
            "Array - 'ü'",
            "String 'ü'",
        ],
    );
}

#[test]
fn values_left_out_stand_after_their_colon() {
    for (text, at) in [
        ("b:\nc: 1", 2),
        ("b :  # x\n", 3),
        ("{b: }", 3),
        ("{b}", 2),
        ("? b\nc: 1", 3),
        ("? b # x\n:\n", 9),
        ("b: &x\n", 5),
    ] {
        let parsed = parse(&SourceText::new(text));
        let value = parsed
            .document
            .root()
            .and_then(|root| root.get("b"))
            .expect("key is there");
        assert_eq!(
            (value.kind(), value.span()),
            (NodeKind::Null, Span::at(at)),
            "in {text:?}"
        );
    }
}

#[test]
fn a_colon_of_the_mapping_around_is_no_value_of_the_inner_one() {
    check(
        ": ?\n:",
        &[
            "Object : ?\n:",
            "Key ",
            "Object ?",
            "Key ",
            "Null ",
            "Key ",
            "Null ",
            "duplicate-key 4..4 0..0",
        ],
    );
    let parsed = parse(&SourceText::new("- ? a\n  : b\n- ?\n  :\n- c\n"));
    let root = parsed.document.root().expect("a root");
    let spans: Vec<Span> = root.elements().map(|element| element.span()).collect();
    assert_eq!(spans, [Span::new(2, 11), Span::new(14, 19), Span::new(22, 23)]);
}

#[test]
fn block_scalars_run_from_header_to_last_line_that_is_not_blank() {
    check(
        "a: |\n  x\n  y\n\n\nb: 1",
        &[
            "Object a: |\n  x\n  y\n\n\nb: 1",
            "Key a",
            "String |\n  x\n  y = x\ny\n",
            "Key b",
            "Number 1",
        ],
    );
    check(
        "a: >2- # c\n   x\n     \n",
        &[
            "Object a: >2- # c\n   x\n     ",
            "Key a",
            "String >2- # c\n   x\n      =  x\n   ",
        ],
    );
    check(
        "- |\n\n  x\n  \n- |\n",
        &["Array - |\n\n  x\n  \n- |", "String |\n\n  x = \nx\n", "String | = "],
    );
    check(
        "- |+\n  x\n\n- y\n",
        &["Array - |+\n  x\n\n- y", "String |+\n  x\n\n = x\n\n", "String y"],
    );
    check(
        "- &a !<t> |\r\n  x\r\n",
        &["Array - &a !<t> |\r\n  x", "String |\r\n  x = x\n"],
    );
}

#[test]
fn plain_scalars_follow_the_core_schema() {
    for (plain, kind) in [
        ("~", NodeKind::Null),
        ("null", NodeKind::Null),
        ("NULL", NodeKind::Null),
        ("nUll", NodeKind::String),
        ("true", NodeKind::True),
        ("False", NodeKind::False),
        ("yes", NodeKind::String),
        ("on", NodeKind::String),
        ("1", NodeKind::Number),
        ("-1", NodeKind::Number),
        ("+1.", NodeKind::Number),
        (".5", NodeKind::Number),
        ("1e3", NodeKind::Number),
        ("1e", NodeKind::String),
        (".", NodeKind::String),
        ("-", NodeKind::String),
        ("0x1F", NodeKind::Number),
        ("-0x1F", NodeKind::String),
        ("0o17", NodeKind::Number),
        ("0o8", NodeKind::String),
        (".inf", NodeKind::Number),
        ("-.INF", NodeKind::Number),
        (".nan", NodeKind::Number),
        ("-.nan", NodeKind::String),
        ("1_000", NodeKind::String),
        ("12:30", NodeKind::String),
        ("2020-01-01", NodeKind::String),
        ("1.2.3", NodeKind::String),
    ] {
        assert_eq!(plain_kind(plain), kind, "{plain}");
        assert_eq!(
            kind == NodeKind::Number,
            number(plain).is_some() && kind == NodeKind::Number,
            "{plain}"
        );
    }
    assert_eq!(number("0x1F"), Some(31.0));
    assert_eq!(number("0o17"), Some(15.0));
    assert_eq!(number("-1.5e3"), Some(-1500.0));
    assert_eq!(number("-.inf"), Some(f64::NEG_INFINITY));
}

#[test]
fn flow_pairs_and_quotes_are_read() {
    check(
        "{\"f\":1, i: [j: k, 'it''s']}",
        &[
            "Object {\"f\":1, i: [j: k, 'it''s']}",
            "Key \"f\"",
            "Number 1",
            "Key i",
            "Array [j: k, 'it''s']",
            "Object j: k",
            "Key j",
            "String k",
            "String 'it''s' = it's",
        ],
    );
}

#[test]
fn aliases_stand_for_rows_and_are_never_expanded() {
    let parsed = parse(&SourceText::new("a: &x [1]\nb: *x\n*y : 2\n"));
    let root = parsed.document.root().expect("has a root");
    let alias = root.get("b").expect("has b");
    assert_eq!(alias.kind(), NodeKind::Alias);
    assert_eq!(alias.resolved().slice(), "[1]");
    assert_eq!(parsed.document.n_aliases(), 1);
    check(
        "&x a: &y\n  b: *y\nc: *x\n",
        &[
            "Object &x a: &y\n  b: *y\nc: *x",
            "Key a",
            "Object b: *y",
            "Key b",
            "Invalid *y",
            "Key c",
            "Alias *x",
            "yaml-unsupported 14..16",
        ],
    );
    check("*x : 1", &["Object *x : 1", "Key *x", "Number 1", "yaml-syntax 0..2"]);
}

#[test]
fn repeated_keys_are_reported_at_both_places() {
    check(
        "{a: 1, \"\\x61\": 2}",
        &[
            "Object {a: 1, \"\\x61\": 2}",
            "Key a",
            "Number 1",
            "Key \"\\x61\" = a",
            "Number 2",
            "duplicate-key 7..13 1..2",
        ],
    );
    let many: String = (0..100).map(|n| format!("k{n}: {n}\n")).collect();
    assert_eq!(parse(&SourceText::new(format!("{many}k7: 0\n"))).diagnostics.len(), 1);
}

#[test]
fn features_that_prevent_patches_are_recorded() {
    assert_eq!(
        features("a: &x 1\nb: !!str 2\n? c\n: 3\n[d]: 4\ne: 5").unpatchable,
        [2, 4, 5, 7]
    );
    assert!(features("a: 1\n---\nb: 2").multi_document);
    assert!(features("a:\t1").tabs);
    assert!(features("a: {\n\tb: 1}").tabs);
    assert!(!features("a: \"\t\" #\t\nb: |\n \tx\t\n# \t\n").tabs);
    assert!(!features("a: 1\t# x\nb: 2\t\n").tabs);
    assert!(features("a: 'x\r y'").lone_returns);
    assert!(!features("a: x\r\n").lone_returns);
}

#[test]
fn syntax_errors_keep_the_partial_tree_and_name_open_collections() {
    check(
        "a: 1\nb: [1, 2\nc: 3\n",
        &[
            "Object a: 1\nb: [1",
            "Key a",
            "Number 1",
            "Key b",
            "Array [1",
            "Number 1",
            "yaml-syntax 15..16 8..9",
        ],
    );
    check(
        "a: \"x\nb: 1\n",
        &["Object a", "Key a", "Invalid ", "yaml-syntax 6..7 3..4"],
    );
    check("a: 'x", &["Object a", "Key a", "Invalid ", "yaml-syntax 3..4"]);
    check("a: b: c", &["Object a: b", "Key a", "String b", "yaml-syntax 4..5"]);
    check("a: }", &["Object a", "Key a", "Invalid ", "yaml-syntax 3..4"]);
    check("a:\n\tb: 1", &["Object a", "Key a", "Invalid ", "yaml-syntax 3..4"]);
}

#[test]
fn only_the_first_document_is_read() {
    check(
        "--- # x\na: 1\n...\n---\nb: 2",
        &["Object a: 1", "Key a", "Number 1", "yaml-unsupported 17..20"],
    );
    check("", &[]);
    check("# only\n", &[]);
    check("---\n", &["Null "]);
    assert_eq!(
        parse(&SourceText::new("- \n-  # x\n- - \n"))
            .document
            .nodes()
            .map(|node| node.span().start)
            .collect::<Vec<_>>(),
        [0, 1, 4, 12, 13]
    );
}

#[test]
fn deep_nests_are_skipped_or_end_the_reading() {
    let deep = |open: &str, n: usize, close: &str| format!("a: {}1{}\nb: 2", open.repeat(n), close.repeat(n));
    let parsed = parse(&SourceText::new(deep("[", 130, "]")));
    assert_eq!(parsed.diagnostics.len(), 1);
    assert_eq!(parsed.diagnostics[0].rule, &rules::TOO_DEEP);
    assert_eq!(
        parsed.document.root().and_then(|root| root.get("b")?.as_integer()),
        Some(2)
    );
    for text in [
        deep("[", 100_000, "]"),
        "- ".repeat(100_000),
        "? ".repeat(100_000),
        deep("{a: ", 100_000, ""),
    ] {
        let parsed = parse(&SourceText::new(text));
        assert!(
            parsed
                .diagnostics
                .iter()
                .any(|finding| finding.rule == &rules::TOO_DEEP)
        );
    }
}

#[test]
fn parts_of_a_text_keep_the_spans_of_the_whole() {
    let source = SourceText::new("---\na: |\n  é\nb:\n- c\n---\n# text");
    let parsed = parse_span(&source, Span::new(4, 21));
    let slices: Vec<_> = parsed.document.nodes().map(|node| node.slice()).collect();
    assert_eq!(slices, ["a: |\n  é\nb:\n- c", "a", "|\n  é", "b", "- c", "c"]);
}

#[test]
fn a_text_that_ends_without_a_line_break_has_none() {
    for (text, value) in [
        ("a: |\n  x", "x"),
        ("a: |+\n  x", "x"),
        ("a: |-\n  x", "x"),
        ("a: >\n  x\n  y", "x y"),
        ("a: >+\n  x", "x"),
        ("a: |\r\n  x", "x"),
        ("a: |\n  x\n    y", "x\n  y"),
        ("a: |\n  x\n   ", "x\n "),
        ("a: |\n  x\n  ", "x\n"),
        ("a: |+\n  x\n  ", "x\n"),
        ("a: |+\n  ", ""),
        ("a: |+\n\n  ", "\n"),
        ("a: |\n  x\n", "x\n"),
        ("a: |\n  x\n# c", "x\n"),
        ("a: |\n  x\n...", "x\n"),
    ] {
        let parsed = parse(&SourceText::new(text));
        let root = parsed.document.root().expect("a mapping");
        let found = root.get("a").map(|node| node.value().into_owned());
        assert_eq!(found.as_deref(), Some(value), "{text:?}");
    }
}

/// A pseudo-random sequence that is the same in every run.
struct Dice(u64);

impl Dice {
    fn throw(&mut self, n_sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % n_sides
    }

    fn pick<'a>(&mut self, words: &[&'a str]) -> &'a str {
        words[self.throw(words.len())]
    }
}

const VALUES: &[&str] = &[
    "",
    " ",
    "a",
    "a b",
    "1",
    "-1",
    "- a",
    "-x",
    "-",
    "~",
    "null",
    "true",
    "0x1F",
    ".5",
    "+.inf",
    "é",
    "é b",
    "a: b",
    "a:b",
    "a:",
    ":",
    "a #b",
    "a# b",
    "#b",
    " # b",
    "http://x/y?z=1",
    "a, b",
    "a]",
    "\"a\"",
    "\"a\" ",
    "\"a\" b",
    "\"a\" # b",
    "\"a\"# b",
    "\"a",
    "a\"",
    "\"\"",
    "\"a\\\"b\"",
    "\"a\\nb\"",
    "\"a\\x41\"",
    "\"\\\\\"",
    "\"a\\",
    "'a'",
    "'it''s'",
    "''",
    "''''",
    "'a",
    "'a'b",
    "[]",
    "[ ]",
    "[a]",
    "[a, b]",
    "[ a , 'b' ,\"c\"]",
    "[a,]",
    "[,a]",
    "[a b, 1]",
    "[a: b]",
    "[[a]]",
    "[a # b]",
    "[a] # b",
    "[a]b",
    "[-1]",
    "[a",
    "[a,",
    "{}",
    "{ }",
    "{}x",
    "{a: 1}",
    "|",
    "|-",
    ">-",
    ">",
    "&x a",
    "*x",
    "!t a",
    "%a",
    "@a",
    "`a",
    "? a",
    "<<",
    "(a)",
    "$a",
    "a\\b",
    "\u{a0}",
    "a\u{2028}b",
    "a\u{85}b",
    "1_000",
    "12:30:45",
    "2026-01-02",
    "a\tb",
    "a ",
    "...",
    "---",
    "= b",
    "'a' : b",
    "\"a\": b",
];

const KEYS: &[&str] = &[
    "a", "b", "c", "key", "k-1", "_x", "d", "e", "f", "é", "1", "<<", "\"q\"", "? a", "a b", "a ", "true", "a.b", "-a",
    "a:b", "",
];

/// Writes a mapping or list, mostly valid, with some odd values and errors.
fn scribble(dice: &mut Dice, indent: usize, depth: usize, out: &mut String) {
    let is_list = dice.throw(3) == 0;
    for _ in 0..=dice.throw(4) {
        let slip = if dice.throw(40) == 0 { dice.throw(4) } else { 0 };
        out.push_str(&" ".repeat(indent + slip));
        let n_common = if dice.throw(12) == 0 { KEYS.len() } else { 7 };
        if is_list {
            out.push_str(dice.pick(&["- ", "- ", "- ", "-  ", "-"]));
            if dice.throw(2) == 0 && depth > 0 {
                out.push_str(&format!("{}: {}\n", dice.pick(&KEYS[..n_common]), plain_value(dice)));
                if dice.throw(2) == 0 {
                    let spaces = " ".repeat(indent + 2);
                    out.push_str(&format!("{spaces}{}: {}\n", dice.pick(KEYS), plain_value(dice)));
                }
                continue;
            }
            out.push_str(plain_value(dice));
        } else {
            out.push_str(dice.pick(&KEYS[..n_common]));
            out.push(':');
            if dice.throw(3) == 0 && depth > 0 {
                out.push_str(dice.pick(&["\n", " \n", " # c\n", "\n\n", "\n# c\n", "\n      # c\n"]));
                let deeper = dice.pick(&["  ", "  ", "    ", " ", ""]).len();
                scribble(dice, indent + deeper, depth - 1, out);
                continue;
            }
            out.push(' ');
            out.push_str(plain_value(dice));
            if dice.throw(8) == 0 {
                out.truncate(out.trim_end_matches(|c| c != ' ').len());
                scribble_block(dice, indent, out);
                continue;
            }
        }
        out.push_str(dice.pick(&["\n", "\n", "\n", "\n", " \n", "\n\n", "\n  \n", "\n # c\n", "\r\n"]));
    }
}

/// Writes a block scalar, usually a simple one.
fn scribble_block(dice: &mut Dice, indent: usize, out: &mut String) {
    out.push_str(dice.pick(&["|", "|-", "|", "|-", ">", ">-", "|+", "|2", "| # c"]));
    let deeper = " ".repeat(indent + 1 + dice.throw(3));
    out.push('\n');
    for _ in 0..=dice.throw(3) {
        match dice.throw(10) {
            0 => out.push_str(dice.pick(&["\n", "  \n", "          \n", "# c\n", "   # c\n"])),
            1 => out.push_str(&format!("{deeper} {}\n", dice.pick(VALUES))),
            _ => out.push_str(&format!(
                "{deeper}{}\n",
                dice.pick(&["a b", "- a", "a: b", "# a", "\"a", "a ", "é"])
            )),
        }
    }
}

fn plain_value(dice: &mut Dice) -> &'static str {
    if dice.throw(3) > 0 {
        dice.pick(&["a", "1", "a b", "\"a\"", "'b'", "[0, 1]", "", "tests pass # c", "null"])
    } else {
        dice.pick(VALUES)
    }
}

#[test]
fn the_fast_parser_and_the_event_parser_agree() {
    let mut dice = Dice(0x9e37_79b9_7f4a_7c15);
    let (mut n_tidy, mut n_blocks, n_texts) = (0, 0, 60_000);
    for _ in 0..n_texts {
        let mut text = String::new();
        scribble(&mut dice, 0, 3, &mut text);
        if dice.throw(8) == 0 {
            text.truncate(text.trim_end().len());
        }
        let source = SourceText::new(text.as_str());
        if let Some(parsed) = tidy::parse(&source, source.span()) {
            n_tidy += 1;
            n_blocks += usize::from(text.contains(['|', '>']));
            let events = parse_events(&source, source.span());
            assert!(parsed.document.has_same_rows(&events), "rows of {text:?}");
        }
    }
    assert!(n_tidy > n_texts / 10, "{n_tidy} of {n_texts} were tidy");
    assert!(n_blocks > n_tidy / 20, "{n_blocks} of {n_tidy} have block scalars");
}
