//! Rust source as tokens: enough to know the names in a file, without comments, texts and test code.

/// One word or sign of a source file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Token {
    pub(crate) line: usize,
    pub(crate) text: String,
}

impl Token {
    pub(crate) fn is(&self, text: &str) -> bool {
        self.text == text
    }

    pub(crate) fn is_word(&self) -> bool {
        self.text.starts_with(|c: char| c.is_alphanumeric() || c == '_')
    }
}

/// A path in a file, with groups expanded: `std::{fs, io}` gives two.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Mention {
    pub(crate) line: usize,
    pub(crate) segments: Vec<String>,
    /// The inline modules around it.
    pub(crate) inside: Vec<String>,
}

/// Returns the tokens of a source file; comments are dropped, and texts become `""`.
pub(crate) fn tokens(source: &str) -> Vec<Token> {
    let chars: Vec<char> = source.chars().collect();
    let mut found = Vec::new();
    let (mut at, mut line) = (0, 1);
    while at < chars.len() {
        let (end, text) = next_token(&chars, at);
        if let Some(text) = text {
            found.push(Token { line, text });
        }
        line += chars[at..end].iter().filter(|&&c| c == '\n').count();
        at = end;
    }
    found
}

/// Returns the end of the next piece, and its text if it is code.
fn next_token(chars: &[char], at: usize) -> (usize, Option<String>) {
    let peek = |offset: usize| chars.get(at + offset).copied().unwrap_or('\0');
    match (peek(0), peek(1)) {
        ('/', '/') => (find(chars, at, "\n"), None),
        ('/', '*') => (block_comment_end(chars, at), None),
        ('"', _) => (string_end(chars, at), Some("\"\"".to_owned())),
        ('\'', '\\') => (quote_end(chars, at + 3), Some("''".to_owned())),
        ('\'', _) if peek(2) == '\'' => (at + 3, Some("''".to_owned())),
        ('\'', _) => (word_end(chars, at + 1), None),
        (c, _) if c.is_whitespace() => (at + 1, None),
        (c, _) if c.is_alphanumeric() || c == '_' => {
            let end = word_end(chars, at);
            let word: String = chars[at..end].iter().collect();
            match raw_string_end(chars, end, &word) {
                Some(end) => (end, Some("\"\"".to_owned())),
                None => (end, Some(word)),
            }
        }
        (c, _) => (at + 1, Some(c.to_string())),
    }
}

fn word_end(chars: &[char], at: usize) -> usize {
    let is_word = |c: &char| c.is_alphanumeric() || *c == '_';
    at + chars[at.min(chars.len())..].iter().take_while(|c| is_word(c)).count()
}

/// Returns the place of a text from `at` on, or the end.
fn find(chars: &[char], at: usize, wanted: &str) -> usize {
    let wanted: Vec<char> = wanted.chars().collect();
    (at..chars.len())
        .find(|&start| chars[start..].starts_with(&wanted))
        .unwrap_or(chars.len())
}

fn block_comment_end(chars: &[char], at: usize) -> usize {
    let mut depth = 0;
    let mut at = at;
    while at < chars.len() {
        match (chars[at], chars.get(at + 1)) {
            ('/', Some('*')) => (depth, at) = (depth + 1, at + 2),
            ('*', Some('/')) => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
        if depth == 0 {
            break;
        }
    }
    at
}

fn string_end(chars: &[char], at: usize) -> usize {
    let mut at = at + 1;
    while at < chars.len() && chars[at] != '"' {
        at += if chars[at] == '\\' { 2 } else { 1 };
    }
    (at + 1).min(chars.len())
}

fn quote_end(chars: &[char], at: usize) -> usize {
    (find(chars, at, "'") + 1).min(chars.len())
}

/// Returns the end of a text with a prefix, such as `r#"…"#` and `b"…"`, if there is one.
fn raw_string_end(chars: &[char], after: usize, prefix: &str) -> Option<usize> {
    if !matches!(prefix, "r" | "b" | "br" | "c" | "cr") {
        return None;
    }
    let n_hashes = chars[after..].iter().take_while(|&&c| c == '#').count();
    if chars.get(after + n_hashes) != Some(&'"') {
        return None;
    }
    if !prefix.contains('r') {
        return (n_hashes == 0).then(|| string_end(chars, after));
    }
    let close = format!("\"{}", "#".repeat(n_hashes));
    let end = find(chars, after + n_hashes + 1, &close) + close.len();
    Some(end.min(chars.len()))
}

/// Returns the tokens without items under `#[cfg(test)]`, and the names of modules that are such items.
pub(crate) fn without_tests(tokens: &[Token]) -> (Vec<Token>, Vec<String>) {
    let (mut kept, mut modules) = (Vec::new(), Vec::new());
    let mut at = 0;
    while at < tokens.len() {
        if !is_test_attribute(&tokens[at..]) {
            kept.push(tokens[at].clone());
            at += 1;
            continue;
        }
        while tokens.get(at).is_some_and(|token| token.is("#")) {
            at = closing(tokens, at + 1) + 1;
        }
        if let [first, name, ..] = &tokens[at.min(tokens.len())..]
            && first.is("mod")
        {
            modules.push(name.text.clone());
        }
        while at < tokens.len() && !tokens[at].is(";") && !tokens[at].is("{") {
            at += 1;
        }
        if tokens.get(at).is_some_and(|token| token.is("{")) {
            at = closing(tokens, at);
        }
        at += 1;
    }
    (kept, modules)
}

fn is_test_attribute(tokens: &[Token]) -> bool {
    let texts: Vec<&str> = tokens.iter().take(12).map(|token| token.text.as_str()).collect();
    let end = texts.iter().position(|&text| text == "]").unwrap_or(texts.len());
    let inside = texts.get(..end).unwrap_or_default();
    inside.starts_with(&["#", "[", "cfg", "("]) && inside.contains(&"test") && !inside.contains(&"not")
}

/// Returns the place of the bracket that closes the one at `open`.
fn closing(tokens: &[Token], open: usize) -> usize {
    let mut depth = 0;
    for (at, token) in tokens.iter().enumerate().skip(open) {
        match token.text.as_str() {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return at;
        }
    }
    tokens.len()
}

/// Returns every path that begins with one of these words.
pub(crate) fn mentions(tokens: &[Token], roots: &[&str]) -> Vec<Mention> {
    let mut found = Vec::new();
    let mut inside: Vec<(String, usize)> = Vec::new();
    let (mut at, mut depth) = (0, 0);
    while at < tokens.len() {
        let text = tokens[at].text.as_str();
        let opens_module = text == "mod" && tokens.get(at + 2).is_some_and(|token| token.is("{"));
        if opens_module {
            inside.push((tokens[at + 1].text.clone(), depth));
        }
        match text {
            "{" => depth += 1,
            "}" => {
                depth -= 1;
                inside.retain(|&(_, outer)| outer < depth);
            }
            _ => {}
        }
        let is_start = roots.contains(&text) && is_separator(tokens, at + 1) && !is_inner(tokens, at);
        if !is_start {
            at += 1;
            continue;
        }
        let mut paths = Vec::new();
        let line = tokens[at].line;
        at = read_tree(tokens, at, &[], &mut paths);
        let modules: Vec<String> = inside.iter().map(|(name, _)| name.clone()).collect();
        found.extend(paths.into_iter().map(|segments| Mention {
            line,
            segments,
            inside: modules.clone(),
        }));
    }
    found
}

fn is_separator(tokens: &[Token], at: usize) -> bool {
    tokens
        .get(at..at + 2)
        .is_some_and(|pair| pair.iter().all(|token| token.is(":")))
}

/// Returns whether a word continues a path or a method call.
fn is_inner(tokens: &[Token], at: usize) -> bool {
    (at >= 2 && is_separator(tokens, at - 2)) || (at >= 1 && tokens[at - 1].is("."))
}

/// Reads a path, or a tree of paths in braces, and returns its end.
fn read_tree(tokens: &[Token], at: usize, prefix: &[String], found: &mut Vec<Vec<String>>) -> usize {
    let mut path = prefix.to_vec();
    let mut at = at;
    while let Some(token) = tokens.get(at) {
        if token.is("{") {
            at += 1;
            while tokens.get(at).is_some_and(|token| !token.is("}")) {
                at = read_tree(tokens, at, &path, found).max(at + 1);
                at += usize::from(tokens.get(at).is_some_and(|token| token.is(",")));
            }
            return at + 1;
        }
        if !token.is_word() && !token.is("*") {
            break;
        }
        path.push(token.text.clone());
        at += 1;
        if !is_separator(tokens, at) {
            break;
        }
        at += 2;
    }
    found.push(path);
    if tokens.get(at).is_some_and(|token| token.is("as")) {
        at += 2;
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(source: &str) -> Vec<String> {
        tokens(source).into_iter().map(|token| token.text).collect()
    }

    fn paths(source: &str) -> Vec<String> {
        let found = mentions(&tokens(source), &["crate", "super", "std"]);
        found.into_iter().map(|mention| mention.segments.join("::")).collect()
    }

    #[test]
    fn comments_and_texts_are_not_code() {
        let source = "a // std::fs\n/* b /* std::fs */ */ \"std::fs \\\" x\" r#\"\"std::fs\"#  'x' '\\'' &'a c";
        assert_eq!(texts(source), ["a", "\"\"", "\"\"", "''", "''", "&", "c"]);
    }

    #[test]
    fn import_groups_are_expanded() {
        let source = "use std::{fs, io::{self, Read as _}, sync::*}; x.std::y; std::env::var(\"x\")";
        let expected = [
            "std::fs",
            "std::io::self",
            "std::io::Read",
            "std::sync::*",
            "std::env::var",
        ];
        assert_eq!(paths(source), expected);
    }

    #[test]
    fn lines_are_counted_through_texts() {
        let found = tokens("\"a\nb\"\n/* \n */ x");
        assert_eq!(found.last().map(|token| token.line), Some(4));
    }

    #[test]
    fn test_code_is_left_out() {
        let source =
            "fn a() {} #[cfg(test)] #[path = \"x\"] mod tests { use std::fs; } #[cfg(test)] mod laws; fn b() {}";
        let (kept, modules) = without_tests(&tokens(source));
        let kept: Vec<String> = kept.into_iter().map(|token| token.text).collect();
        assert_eq!(kept.join(" "), "fn a ( ) { } fn b ( ) { }");
        assert_eq!(modules, ["tests", "laws"]);
    }

    #[test]
    fn modules_around_a_path_are_known() {
        let source = "mod a { mod b { fn f() { super::x(); } } } fn g() { super::y(); }";
        let found = mentions(&tokens(source), &["super"]);
        assert_eq!(found[0].inside, ["a", "b"]);
        assert!(found[1].inside.is_empty());
    }
}
