//! What users see of runs, at several sizes, from friendly and hostile texts.

mod drawn;
mod ended;
mod frames;
mod hostile;
mod samples;
mod shown;
mod stage;
