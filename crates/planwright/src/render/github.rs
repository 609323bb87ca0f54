//! Findings as annotations on a GitHub pull request.

use planwright_core::diagnostic::{Diagnostic, Severity};
use planwright_core::text::SourceText;

/// Returns one workflow command per finding.
pub(crate) fn annotations(path: &str, source: &SourceText, diagnostics: &[Diagnostic]) -> String {
    let index = source.line_index();
    let mut out = String::new();
    for diagnostic in diagnostics {
        let command = match diagnostic.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
            Severity::Note => "notice",
        };
        let place = diagnostic.span.map_or(String::new(), |span| {
            let (start, end) = (index.position(span.start), index.position(span.end));
            let columns = if start.line == end.line {
                format!(",col={},endColumn={}", start.column, end.column)
            } else {
                format!(",col={}", start.column)
            };
            format!(",line={},endLine={}{columns}", start.line, end.line)
        });
        let mut message = diagnostic.message.clone();
        if !diagnostic.help.is_empty() {
            message.push_str(&format!("\nhelp: {}", diagnostic.help));
        }
        out.push_str(&format!(
            "::{command} file={}{place},title={}::{}\n",
            property(path),
            property(diagnostic.rule.id),
            data(&message)
        ));
    }
    out
}

fn data(text: &str) -> String {
    let printable = planwright_verbs::text::printable(text);
    printable.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_cannot_end_a_command_early() {
        assert_eq!(data("50%\nx"), "50%25%0Ax");
        assert_eq!(property("a:b,c"), "a%3Ab%2Cc");
    }
}
