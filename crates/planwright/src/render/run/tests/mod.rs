//! Tests of the views of runs, at several sizes, with friendly and hostile texts.

mod drawn;
mod ended;
mod fake_terminal;
mod frames;
mod hostile;
mod samples;
mod shown;
