//! Syntax errors in words that help.

use granit_parser::ErrorKind;

/// Returns a headline and advice for a syntax error.
pub(super) fn explain(kind: &ErrorKind) -> (String, &'static str) {
    let (message, help) = match kind {
        ErrorKind::UnclosedFlowCollection { open } => {
            return (
                format!("`{open}` is never closed"),
                "close it, or put text that begins with a bracket in quotes",
            );
        }
        ErrorKind::MismatchedFlowCollectionEnd { open, close } => {
            return (format!("`{close}` does not close `{open}`"), "");
        }
        ErrorKind::UnexpectedCharacter { character } => {
            return (
                format!("`{}` cannot begin a value", character.escape_debug()),
                "put the text in quotes",
            );
        }
        ErrorKind::UnclosedQuotedScalar => ("the quote is never closed", "close it on its line"),
        ErrorKind::InvalidQuotedScalarIndent => (
            "the text in quotes goes on at the left margin",
            "close the quote, or indent the lines that follow",
        ),
        ErrorKind::MappingValueNotAllowed => (
            "a second `: ` in one value",
            "put the text in quotes, or begin the mapping on a line of its own",
        ),
        ErrorKind::InvalidColonPlacement | ErrorKind::ExpectedFlowSequenceSeparator => (
            "expected `,` or `]`",
            "close the list, or put a comma between its entries",
        ),
        ErrorKind::ExpectedFlowMappingSeparator => (
            "expected `,` or `}`",
            "close the mapping, or put a comma between its members",
        ),
        ErrorKind::SimpleKeyExpected => ("expected `:` after the key", "write `key: value`"),
        ErrorKind::ExpectedBlockMappingKey | ErrorKind::InvalidIndentation => (
            "the line fits no mapping above it",
            "indent it exactly like the keys it belongs to",
        ),
        ErrorKind::ExpectedBlockSequenceEntry => (
            "expected `- `: the line fits no list above it",
            "begin it with a dash, or indent it like the keys it belongs to",
        ),
        ErrorKind::TabInBlockIndentation | ErrorKind::TabInIndentation | ErrorKind::TabNotAllowed => {
            ("a tab where only spaces may indent", "indent with spaces")
        }
        ErrorKind::MisplacedFlowCollectionEnd => (
            "a closing bracket without an opening one",
            "remove it, or put the text in quotes",
        ),
        ErrorKind::InvalidTrailingDoubleQuotedScalar | ErrorKind::InvalidTrailingSingleQuotedScalar => (
            "text after the closing quote",
            "put the whole text in quotes, and quotes inside it as `''` or `\\\"`",
        ),
        ErrorKind::UnknownQuotedScalarEscape => (
            "not an escape YAML knows",
            "write a backslash as \\\\, or use single quotes",
        ),
        other => return (other.to_string(), ""),
    };
    (message.to_owned(), help)
}
