//! Escapes text for HTML.

use std::borrow::Cow;

use planwright_run::clock::milliseconds_of;
use planwright_verbs::text::printable;

/// Returns text that is shown unchanged, with control and bidirectional characters as escapes.
pub(super) fn text(raw: &str) -> Cow<'_, str> {
    let shown: Cow<'_, str> = if raw.contains('\t') {
        let parts: Vec<_> = raw.split('\t').map(printable).collect();
        Cow::Owned(parts.join("\t"))
    } else {
        printable(raw)
    };
    if !shown.contains(['&', '<', '>', '"', '\'']) {
        return shown;
    }
    let mut out = String::with_capacity(shown.len() + 16);
    for c in shown.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(c),
        }
    }
    Cow::Owned(out)
}

/// Returns text for a quoted attribute, on one line.
pub(super) fn attribute(raw: &str) -> String {
    text(&raw.replace(['\n', '\t'], " ")).into_owned()
}

/// Returns a time in local time, with the exact one for programs. Text that is no time stays text.
pub(super) fn time(time: &str, shown: &str) -> String {
    match milliseconds_of(time) {
        Some(_) => format!("<time datetime=\"{}\">{}</time>", attribute(time), text(shown)),
        None => text(shown).into_owned(),
    }
}

/// Returns the coloured word for a state. The class is one of ours.
pub(super) fn pill(class: &str, words: &str) -> String {
    format!("<span class=\"pill {class}\">{}</span>", text(words))
}

/// Returns the CSS class of a state.
pub(super) fn class_of(state: &str) -> &'static str {
    match state {
        "done" => "done",
        "failed" => "failed",
        "running" | "verifying" => "running",
        "review" => "review",
        "skipped" => "skipped",
        "stopped" | "interrupted" | "resting" | "rate-limited" | "broken" => "stopped",
        "blocked" => "failed",
        _ => "waiting",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_markup() {
        assert_eq!(
            text("<b a='1'>&\"\u{1b}[2J\u{202e}\t\n"),
            "&lt;b a=&#39;1&#39;&gt;&amp;&quot;\\u{1b}[2J\\u{202e}\t\n"
        );
        assert_eq!(attribute("a\"\nb"), "a&quot; b");
        assert_eq!(class_of("\" onload=\""), "waiting");
    }
}
