//! A clock, a terminal and an output that tests control.

use std::cell::{Cell, RefCell};
use std::io::{self, Write};
use std::rc::Rc;

use planwright_run::runs::RunRecord;
use planwright_verbs::run_history::Setting;

use super::samples::at;
use crate::render::run::words::Moment;
use crate::render::run::{LiveDisplay, PlainLines, ScreenSize};
use crate::render::terminal::Paint;

/// A writer that can be read, and that can fail.
#[derive(Clone, Default)]
pub(super) struct Shared {
    text: Rc<RefCell<Vec<u8>>>,
    pub(super) is_broken: Rc<Cell<bool>>,
}

impl Shared {
    pub(super) fn taken(&self) -> String {
        String::from_utf8(self.text.take()).expect("text")
    }
}

impl Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.is_broken.get() {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        self.text.borrow_mut().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A clock and a terminal's size that a test sets.
pub(super) struct FakeTerminal {
    pub(super) out: Shared,
    pub(super) now: Rc<Cell<Moment>>,
    pub(super) size: Rc<Cell<ScreenSize>>,
}

impl FakeTerminal {
    pub(super) fn new(columns: usize, rows: usize) -> Self {
        FakeTerminal {
            out: Shared::default(),
            now: Rc::new(Cell::new(at(0))),
            size: Rc::new(Cell::new(ScreenSize { columns, rows })),
        }
    }

    fn clock(&self) -> Box<dyn FnMut() -> Moment> {
        let now = Rc::clone(&self.now);
        Box::new(move || now.get())
    }

    pub(super) fn live(&self, setting: Setting) -> LiveDisplay<Shared> {
        let size = Rc::clone(&self.size);
        let size = Box::new(move || Some(size.get()));
        LiveDisplay::new(self.out.clone(), setting, Paint::new(true), self.clock(), size)
    }

    pub(super) fn plain(&self, setting: Setting) -> PlainLines<Shared> {
        PlainLines::new(self.out.clone(), setting, Paint::new(false), self.clock())
    }

    pub(super) fn go_to(&self, record: &RunRecord) {
        let time = planwright_run::clock::milliseconds_of(&record.time);
        self.now.set(time.expect("a time"));
    }
}
