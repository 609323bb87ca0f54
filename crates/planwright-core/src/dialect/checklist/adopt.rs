//! The marker line: it says that a checklist is a plan, and which order holds.

use super::super::CannotFollow;
use super::lines::{Lines, line_start};
use super::variant::{Marker, Order};
use crate::text::{SourceText, Span};

/// Returns the text with a marker line, which names the order if there is one.
pub(super) fn adopted(source: &SourceText, order: Option<&str>) -> Result<String, CannotFollow> {
    let lines = Lines::read(source);
    let text = source.as_str();
    let own = Marker::of(source, &lines).unwrap_or_default();
    let order = match order {
        None => own.order,
        Some(name) => Some(Order::named(name).ok_or_else(|| CannotFollow {
            span: Span::at(0),
            message: format!("there is no order `{name}`"),
            help: "it is `strict`, `phases` or `none`".to_owned(),
        })?),
    };
    let marker = Marker::line(own.id.map(|id| source.slice(id)), own.is_explicit, order);
    if let Some(old) = lines.marker {
        let start = line_start(text, old.start as usize);
        let start = start + text[start..].find("<!--").unwrap_or(0);
        let end = text[old.end as usize..]
            .find("-->")
            .map_or(text.len(), |at| old.end as usize + at + 3);
        return Ok(format!("{}{marker}{}", &text[..start], &text[end..]));
    }
    let newline = source.newline().as_str();
    let title_end = lines.title().map(|title| {
        let end = title.end as usize;
        text[end..].find('\n').map_or(text.len(), |at| end + at + 1)
    });
    Ok(match title_end {
        // A title without a line break is the whole file, which then has no task.
        Some(at) => format!("{}{newline}{marker}{newline}{}", &text[..at], &text[at..]),
        None => {
            let at = after_frontmatter(text, source.bom_len());
            format!("{}{marker}{newline}{newline}{}", &text[..at], &text[at..])
        }
    })
}

/// Returns the offset after the frontmatter of a text, or after its byte order mark.
fn after_frontmatter(text: &str, start: usize) -> usize {
    let Some(rest) = text[start..].strip_prefix("---") else {
        return start;
    };
    let close = rest.find("\n---").map(|at| start + 3 + at + 1);
    close.map_or(start, |close| {
        text[close..].find('\n').map_or(text.len(), |at| close + at + 1)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, order: Option<&str>, expect: &str) {
        assert_eq!(adopted(&SourceText::new(text), order).as_deref(), Ok(expect));
    }

    #[test]
    fn the_marker_stands_below_the_title() {
        check("# A\n\n- [ ] a\n", None, "# A\n\n<!-- planwright -->\n\n- [ ] a\n");
        check(
            "- [ ] a\r\n",
            Some("none"),
            "<!-- planwright: order none -->\r\n\r\n- [ ] a\r\n",
        );
        check(
            "---\na: 1\n---\n- [ ] a",
            None,
            "---\na: 1\n---\n<!-- planwright -->\n\n- [ ] a",
        );
        check(
            "# A\n<!-- planwright: explicit dependencies -->\n- [ ] T1: a\n",
            Some("phases"),
            "# A\n<!-- planwright: explicit dependencies, order phases -->\n- [ ] T1: a\n",
        );
    }
}
