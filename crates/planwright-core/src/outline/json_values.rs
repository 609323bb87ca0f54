//! Reads JSON as people and models type it: comments, wrong commas and quotes, bare keys, Python's words. Unfinished values are
//! kept in part.

use std::collections::BTreeSet;

use super::task_keys::LISTS;
use super::value::{MAX_DEPTH, OutlineData, OutlineMember, OutlineNode, plain_key};
use crate::text::Span;

/// A value, and its notation.
#[derive(Debug)]
pub(super) struct LooseValue {
    pub(super) node: OutlineNode,
    pub(super) end: usize,
    /// The deviations from strict JSON, in words.
    pub(super) repairs: BTreeSet<&'static str>,
    /// Where the text ends or omits something before the value is complete.
    pub(super) cut: Option<Span>,
}

/// Why there is no value, and where.
#[derive(Debug, PartialEq)]
pub(super) struct SyntaxProblem {
    pub(super) at: usize,
    pub(super) message: &'static str,
}

/// Reads the value at an offset of a text that ends at `end`.
pub(super) fn read_value(text: &str, at: usize, end: usize) -> Result<LooseValue, SyntaxProblem> {
    let mut reader = LooseJsonReader {
        text: text.get(..end).unwrap_or(text),
        at,
        repairs: BTreeSet::new(),
        cut: None,
        is_over: false,
    };
    let node = reader.value(0)?.ok_or(SyntaxProblem {
        at,
        message: "there is no value here",
    })?;
    Ok(LooseValue {
        node,
        end: reader.at,
        repairs: reader.repairs,
        cut: reader.cut,
    })
}

struct LooseJsonReader<'t> {
    text: &'t str,
    at: usize,
    repairs: BTreeSet<&'static str>,
    cut: Option<Span>,
    /// Whether the text ended before the value.
    is_over: bool,
}

impl LooseJsonReader<'_> {
    fn rest(&self) -> &str {
        self.text.get(self.at..).unwrap_or("")
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn problem<T>(&self, message: &'static str) -> Result<T, SyntaxProblem> {
        Err(SyntaxProblem { at: self.at, message })
    }

    fn end_here(&mut self) {
        self.is_over = true;
        let at = self.text.trim_end().len();
        self.cut.get_or_insert(Span::at(at));
    }

    /// Skips white space, comments and elision marks.
    fn skip(&mut self) {
        loop {
            let rest = self.rest();
            let trimmed = rest.trim_start_matches(|c: char| c.is_whitespace() || matches!(c, '\u{feff}' | '\u{200b}'));
            let start = self.at + (rest.len() - trimmed.len());
            let comment = match () {
                () if trimmed.starts_with("/*") => trimmed.find("*/").map_or(trimmed.len(), |at| at + 2),
                () if trimmed.starts_with("//") || trimmed.starts_with('#') => {
                    trimmed.find('\n').unwrap_or(trimmed.len())
                }
                () if trimmed.starts_with("...") => 3,
                () if trimmed.starts_with('…') => '…'.len_utf8(),
                () => {
                    self.at = start;
                    return;
                }
            };
            let words = trimmed.get(..comment).unwrap_or("");
            if is_elision(words) {
                self.cut.get_or_insert(Span::new(start, start + comment));
            } else {
                self.repairs.insert("comments");
            }
            self.at = start + comment;
        }
    }

    /// Reads a value; none at the end of the text.
    fn value(&mut self, depth: usize) -> Result<Option<OutlineNode>, SyntaxProblem> {
        self.skip();
        let start = self.at;
        let Some(first) = self.peek() else {
            self.end_here();
            return Ok(None);
        };
        if depth > MAX_DEPTH {
            return self.problem("this is nested too deeply");
        }
        let data = match first {
            '{' => Some(self.object(depth)?),
            '[' => Some(self.list(depth)?),
            quote if closing_quotes(quote).is_some() => self.string()?.map(OutlineData::Text),
            _ => Some(self.word()?),
        };
        Ok(data.map(|data| OutlineNode {
            span: Span::new(start, self.at),
            data,
        }))
    }

    fn list(&mut self, depth: usize) -> Result<OutlineData, SyntaxProblem> {
        self.at += 1;
        let mut elements = Vec::new();
        loop {
            self.skip();
            match self.peek() {
                None => self.end_here(),
                Some(']') => {
                    self.at += 1;
                    return Ok(OutlineData::List(elements));
                }
                Some(',') => {
                    self.at += 1;
                    self.skip();
                    if self.peek() == Some(']') {
                        self.repairs.insert("trailing commas");
                    }
                    continue;
                }
                Some('}' | ':') => return self.problem("a value or `]` belongs here"),
                Some(_) => {
                    let element = self.value(depth + 1)?;
                    let is_whole = !self.is_over;
                    elements.extend(element.filter(|element| is_whole || has_list_of_work(element)));
                }
            }
            if self.is_over {
                return Ok(OutlineData::List(elements));
            }
        }
    }

    fn object(&mut self, depth: usize) -> Result<OutlineData, SyntaxProblem> {
        self.at += 1;
        let mut members = Vec::new();
        loop {
            self.skip();
            let start = self.at;
            let key = match self.peek() {
                None => {
                    self.end_here();
                    None
                }
                Some('}') => {
                    self.at += 1;
                    return Ok(OutlineData::Object(members));
                }
                Some(',' | ';') => {
                    self.at += 1;
                    self.skip();
                    if self.peek() == Some('}') {
                        self.repairs.insert("trailing commas");
                    }
                    continue;
                }
                Some(quote) if closing_quotes(quote).is_some() => self.string()?,
                Some(c) if c.is_alphanumeric() || matches!(c, '_' | '$') => {
                    self.repairs.insert("unquoted keys");
                    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '$' | '-');
                    let key: String = self.rest().chars().take_while(|c| is_part(*c)).collect();
                    self.at += key.len();
                    Some(key)
                }
                Some(_) => return self.problem("a key or `}` belongs here"),
            };
            let key_span = Span::new(start, self.at);
            self.skip();
            match self.peek() {
                _ if self.is_over => return Ok(OutlineData::Object(members)),
                None => self.end_here(),
                Some(':' | '=') => self.at += 1,
                Some(_) => return self.problem("a `:` belongs here"),
            }
            if self.is_over {
                return Ok(OutlineData::Object(members));
            }
            let value = self.value(depth + 1)?;
            let is_whole = !self.is_over;
            let is_kept =
                |node: &OutlineNode| is_whole || matches!(node.data, OutlineData::List(_) | OutlineData::Object(_));
            if let (Some(key), Some(value)) = (key, value.filter(is_kept)) {
                members.push(OutlineMember { key, key_span, value });
            }
            if self.is_over {
                return Ok(OutlineData::Object(members));
            }
        }
    }

    /// Reads a text in quotes; none if the text ends before they close.
    fn string(&mut self) -> Result<Option<String>, SyntaxProblem> {
        let Some(quote) = self.peek() else {
            return Ok(None);
        };
        let closing = closing_quotes(quote).unwrap_or("");
        if quote != '"' {
            self.repairs.insert(if quote == '\'' {
                "single quotes"
            } else {
                "typographic quotes"
            });
        }
        let body = self.at + quote.len_utf8();
        let mut out = String::new();
        let rest = self.text.get(body..).unwrap_or("");
        let mut chars = rest.char_indices();
        while let Some((offset, c)) = chars.next() {
            match c {
                '\\' => match chars.next() {
                    Some((_, 'u')) => {
                        let digits = rest.get(offset + 2..offset + 6).unwrap_or("");
                        let code = u32::from_str_radix(digits, 16).ok();
                        out.push(code.and_then(char::from_u32).unwrap_or('\u{fffd}'));
                        if code.is_some() {
                            chars.nth(3);
                        }
                    }
                    Some((_, escaped)) => out.push(match escaped {
                        'n' => '\n',
                        't' => '\t',
                        'r' => '\r',
                        'b' | 'f' => ' ',
                        other => other,
                    }),
                    None => break,
                },
                c if closing.contains(c) => {
                    let after = body + offset + c.len_utf8();
                    if closes(self.text.get(after..).unwrap_or("")) {
                        self.at = after;
                        return Ok(Some(out));
                    }
                    if quote == '"' {
                        self.repairs.insert("quotes within quotes");
                    }
                    out.push(c);
                }
                c => {
                    if c == '\n' {
                        self.repairs.insert("line breaks within quotes");
                    }
                    out.push(c);
                }
            }
        }
        self.at = self.text.len();
        self.end_here();
        Ok(None)
    }

    /// Reads a number, a literal, or a word without quotes.
    fn word(&mut self) -> Result<OutlineData, SyntaxProblem> {
        let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '+' | '.' | '/' | '$');
        let word: String = self.rest().chars().take_while(|c| is_part(*c)).collect();
        if word.is_empty() {
            return self.problem("a value belongs here");
        }
        self.at += word.len();
        if self.at >= self.text.len() {
            self.end_here();
        }
        Ok(match word.as_str() {
            "true" => OutlineData::Bool(true),
            "false" => OutlineData::Bool(false),
            "null" => OutlineData::Null,
            number if number.parse::<f64>().is_ok() && number.starts_with(|c: char| c.is_ascii_digit() || c == '-') => {
                OutlineData::Number(word)
            }
            other => {
                self.repairs.insert("words without quotes");
                match other {
                    "True" => OutlineData::Bool(true),
                    "False" => OutlineData::Bool(false),
                    "None" | "undefined" | "nil" | "NaN" => OutlineData::Null,
                    _ => OutlineData::Text(word),
                }
            }
        })
    }
}

/// Returns the characters that close a quotation with this opening one.
fn closing_quotes(quote: char) -> Option<&'static str> {
    Some(match quote {
        '"' => "\"",
        '\'' => "'",
        '“' | '”' | '„' => "”“\"",
        '‘' | '’' | '‚' => "’‘'",
        '«' => "»",
        '`' => "`",
        _ => return None,
    })
}

/// Returns whether a quotation mark ends its text, by the text after it.
fn closes(after: &str) -> bool {
    let trimmed = after.trim_start();
    let gap = after.get(..after.len() - trimmed.len()).unwrap_or("");
    match trimmed.chars().next() {
        None | Some(',' | ':' | '}' | ']' | '=' | ';') => true,
        Some('/' | '#') => !gap.is_empty(),
        Some(c) if closing_quotes(c).is_some() => !gap.is_empty(),
        Some('{' | '[') => true,
        Some(_) => gap.contains('\n'),
    }
}

/// Returns whether words mark an elision.
fn is_elision(words: &str) -> bool {
    let bare = words.trim_start_matches(['/', '*', '#', ' ', '\t']);
    let lower = bare.to_lowercase();
    #[rustfmt::skip]
    let said = [
        "rest of the", "more tasks", "more steps", "remaining tasks", "remaining steps", "and so on", "truncated",
    ];
    bare.starts_with("...") || bare.starts_with('…') || said.iter().any(|said| lower.contains(said))
}

/// Returns whether an unfinished element contains finished work.
fn has_list_of_work(node: &OutlineNode) -> bool {
    let is_list = |member: &OutlineMember| {
        LISTS.contains(&plain_key(&member.key).as_str()) && !member.value.elements().is_empty()
    };
    node.members().iter().any(is_list)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(node: &OutlineNode) -> String {
        match &node.data {
            OutlineData::Null => "null".to_owned(),
            OutlineData::Bool(value) => value.to_string(),
            OutlineData::Number(number) => number.clone(),
            OutlineData::Text(text) => format!("{text:?}"),
            OutlineData::List(list) => format!("[{}]", list.iter().map(shown).collect::<Vec<_>>().join(",")),
            OutlineData::Object(members) => {
                let members = members
                    .iter()
                    .map(|member| format!("{}:{}", member.key, shown(&member.value)));
                format!("{{{}}}", members.collect::<Vec<_>>().join(","))
            }
        }
    }

    #[test]
    fn json_values_are_read_in_all_their_spellings() {
        for (text, expected, is_cut) in [
            (r#"{"a": [1, "b", true, null]}"#, r#"{a:[1,"b",true,null]}"#, false),
            ("{a: 'b', /* c */ d: [1,2,], }", r#"{a:"b",d:[1,2]}"#, false),
            ("{“a”: “b”, ‘c’: ‘it’s’}", r#"{a:"b",c:"it’s"}"#, false),
            (r#"{"a": "Add "x" now", "b": 1}"#, r#"{a:"Add \"x\" now",b:1}"#, false),
            ("{\"a\": 1\n \"b\": 2}", "{a:1,b:2}", false),
            (
                r#"{"a": None, "b": True, "c": pending}"#,
                r#"{a:null,b:true,c:"pending"}"#,
                false,
            ),
            (r#"[{"a": 1}, {"a": 2"#, "[{a:1}]", true),
            (r#"{"tasks": [{"a": 1}, {"a": "x"#, "{tasks:[{a:1}]}", true),
            (r#"[{"tasks": [{"a": 1}, {"a"#, "[{tasks:[{a:1}]}]", true),
            (r#"[{"a": 1}, ...]"#, "[{a:1}]", true),
            ("[{\"a\": 1} // ... more tasks\n]", "[{a:1}]", true),
            (r#"["A\né\"", 2]"#, "[\"A\\né\\\"\",2]", false),
        ] {
            let value = read_value(text, 0, text.len()).unwrap_or_else(|problem| panic!("{text}: {problem:?}"));
            assert_eq!(
                (shown(&value.node).as_str(), value.cut.is_some()),
                (expected, is_cut),
                "{text}"
            );
        }
        for text in ["{\"a\" \"b\"}", "[1}", "{]", &"[".repeat(1000)] {
            assert!(read_value(text, 0, text.len()).is_err(), "{text}");
        }
    }
}
