//! Task lines in another order: lines of one group change places, and one line may pass whole groups.

use super::super::lines::line_start;
use super::super::task_line::TaggedLine;
use super::element::LineEdits;
use super::new_task::{NewPlace, is_loose};
use crate::document::patch::PatchRefusal;
use crate::text::Span;

impl LineEdits<'_> {
    /// Puts tasks into another order; `leaves` has the line of each, `order` the old index for each position.
    pub(super) fn reorder(
        &mut self,
        found: &[TaggedLine],
        leaves: &[usize],
        order: &[usize],
    ) -> Result<(), PatchRefusal> {
        if single_move(order).is_some() && self.is_across(found, leaves, order) {
            return self.pass_groups(found, leaves, order);
        }
        let line = |place: usize| leaves.get(place).map(|ix| &found[*ix]);
        for (place, &from) in order.iter().enumerate().filter(|(place, from)| place != *from) {
            let (Some(to), Some(moved)) = (line(place), line(from)) else {
                return Err(PatchRefusal::OutOfRange(self.source.span()));
            };
            if !self.is_peer(to, moved) {
                self.edits.clear();
                return self.pass_groups(found, leaves, order);
            }
            self.replace(to.span(), self.source.slice(moved.span()));
        }
        Ok(())
    }

    /// Returns whether lines that change places stand below different headings: then one moves, and the others stay.
    fn is_across(&self, found: &[TaggedLine], leaves: &[usize], order: &[usize]) -> bool {
        let section = |place: usize| leaves.get(place).map(|ix| found[*ix].item.section);
        let mut moved = order.iter().enumerate().filter(|(place, from)| place != *from);
        moved.any(|(place, from)| section(place) != section(*from))
    }

    /// Returns whether two lines are of the same group and form.
    fn is_peer(&self, one: &TaggedLine, other: &TaggedLine) -> bool {
        let is_apart = self.variant.is_numbered() && one.item.heading != other.item.heading;
        one.parent == other.parent && one.item.indent == other.item.indent && !is_apart
    }

    /// Moves one line past groups next to it; it stays in its own group.
    fn pass_groups(&mut self, found: &[TaggedLine], leaves: &[usize], order: &[usize]) -> Result<(), PatchRefusal> {
        let refused = |line: &TaggedLine| PatchRefusal::NoForm {
            reason: "tasks of different groups do not change places: move the lines by hand",
            span: line.item.line,
        };
        let first = order.iter().enumerate().find(|(place, from)| place != *from);
        let first = first.map_or(0, |(place, _)| place);
        let (from, to) = single_move(order).ok_or_else(|| refused(&found[leaves[first]]))?;
        let moved = &found[leaves[from]];
        let neighbour = |place: Option<usize>| Some(leaves[*order.get(place?)?]);
        let (prev, next) = (neighbour(to.checked_sub(1)), neighbour(Some(to + 1)));
        let around = |ix: usize| std::iter::successors(Some(ix), |ix| found[*ix].parent);
        // The neighbour, or the group around it, that is a peer of the line and does not reach to the other side of the new place.
        let peer = |side: Option<usize>, other: Option<usize>| {
            let own = around(side?).find(|ix| self.is_peer(&found[*ix], moved))?;
            let reaches = other.is_some_and(|other| around(other).any(|ix| ix == own));
            (!reaches).then_some(own)
        };
        let text = self.source.as_str();
        let start = line_start(text, moved.item.line.start as usize).max(self.source.bom_len());
        let lines = &text[start..moved.span().end as usize];
        let place = NewPlace { before: prev, next };
        let gap = if is_loose(text, found, place) { self.newline } else { "" };
        let newline = self.newline;
        let (before, after) = (peer(next, prev), peer(prev, next).and(prev));
        let stays = |ix: usize| found[ix].item.section == moved.item.section;
        let (at, new) = match (before, after) {
            (Some(next), after) if stays(next) || !after.is_some_and(stays) => {
                let at = line_start(text, found[next].item.line.start as usize).max(self.source.bom_len());
                (at, format!("{lines}{newline}{gap}"))
            }
            (_, Some(prev)) => (found[prev].span().end as usize, format!("{newline}{gap}{lines}")),
            (_, None) => return Err(refused(moved)),
        };
        self.remove_task(moved);
        self.replace(Span::at(at), new);
        Ok(())
    }
}

/// Returns from where to where the only moved element went; none if several moved.
fn single_move(order: &[usize]) -> Option<(usize, usize)> {
    let is_moved = |place: &usize| order[*place] != *place;
    let first = (0..order.len()).find(is_moved)?;
    let last = (0..order.len()).rev().find(is_moved)?;
    let (down, up) = (order[last] == first, order[first] == last);
    match () {
        () if down && (first..last).all(|place| order[place] == place + 1) => Some((first, last)),
        () if up && (first + 1..=last).all(|place| order[place] == place - 1) => Some((last, first)),
        () => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_only_moved_element_is_found() {
        for (order, expect) in [
            (&[0, 2, 3, 1, 4][..], Some((1, 3))),
            (&[3, 0, 1, 2], Some((3, 0))),
            (&[1, 0], Some((0, 1))),
            (&[1, 0, 3, 2], None),
            (&[0, 1], None),
        ] {
            assert_eq!(single_move(order), expect, "{order:?}");
        }
    }
}
