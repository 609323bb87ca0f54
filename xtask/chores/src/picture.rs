//! The picture of the README: a real run of an example, drawn as a terminal in SVG.

use std::process::Command;

use anyhow::Context as _;
use planwright_testkit::{TempFolder, repository};

const PICTURE: &str = "docs/first-run.svg";

const LINE_HEIGHT: usize = 19;
const CHARACTER_WIDTH: f64 = 7.85;
const MAX_COLUMNS: usize = 104;

/// Runs the example, and draws what it prints.
pub(crate) fn draw() -> anyhow::Result<()> {
    let binary = crate::built::binary(&["--release"])?;
    let folder = TempFolder::new()?;
    let copy = folder.path().join("limits");
    let run = Command::new(&binary)
        .args(["run", "--color", "never", "--copy-to"])
        .arg(&copy)
        .arg("examples/clido")
        .current_dir(repository())
        .output()
        .context("could not run the example")?;
    anyhow::ensure!(
        run.status.success(),
        "the example failed: {}",
        String::from_utf8_lossy(&run.stderr)
    );
    let text = String::from_utf8_lossy(&run.stdout).into_owned();
    let lines = shown_lines(&text);
    let path = repository().join(PICTURE);
    std::fs::write(&path, svg(&lines)).with_context(|| format!("{} could not be written", path.display()))?;
    Ok(())
}

/// Returns the lines of a run that the picture shows: the command, then the output without paths of this machine.
fn shown_lines(text: &str) -> Vec<String> {
    let own = |line: &&str| !line.contains("what was made is in") && !line.starts_with("copied ");
    let lines = text
        .lines()
        .filter(own)
        .map(|line| match line.chars().count() > MAX_COLUMNS {
            true => format!("{}…", line.chars().take(MAX_COLUMNS - 1).collect::<String>()),
            false => line.to_owned(),
        });
    ["$ planwright run".to_owned()].into_iter().chain(lines).collect()
}

fn svg(lines: &[String]) -> String {
    let columns = lines.iter().map(|line| line.chars().count()).max().unwrap_or(0).max(60);
    let width = (columns as f64 * CHARACTER_WIDTH) as usize + 40;
    let height = lines.len() * LINE_HEIGHT + 56;
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" role=\"img\" \
         aria-label=\"A run of a plan: four tasks, each verified by cargo test; one fails and is done at its second attempt\">\n\
         <rect width=\"100%\" height=\"100%\" rx=\"8\" fill=\"#16181d\"/>\n\
         <g fill=\"#3a3f4b\"><circle cx=\"20\" cy=\"18\" r=\"5\"/><circle cx=\"38\" cy=\"18\" r=\"5\"/><circle cx=\"56\" cy=\"18\" r=\"5\"/></g>\n\
         <g font-family=\"ui-monospace, SFMono-Regular, Menlo, Consolas, monospace\" font-size=\"13\" xml:space=\"preserve\">\n"
    );
    for (ix, line) in lines.iter().enumerate() {
        let y = 48 + ix * LINE_HEIGHT;
        out.push_str(&format!(
            "<text x=\"20\" y=\"{y}\" fill=\"{}\">{}</text>\n",
            colour(line),
            escaped(line)
        ));
    }
    out.push_str("</g>\n</svg>\n");
    out
}

/// Returns the colour of a line by what it reports.
fn colour(line: &str) -> &'static str {
    match () {
        () if line.starts_with('$') => "#ffffff",
        () if line.contains("  done in ") || line.contains(" verified") || line.contains("finished after") => "#7fd88f",
        () if line.contains("  failed") => "#ff8a80",
        () if line.contains("  waits ") => "#e6c07b",
        () => "#c8ccd4",
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_cut_and_escaped() {
        let long = "x".repeat(200);
        let lines = shown_lines(&format!(
            "copied 9 files to y\n08:15:00  t1  done in 0.1s <b>\n{long}\n"
        ));
        assert_eq!(lines.len(), 3);
        assert_eq!(lines[2].chars().count(), MAX_COLUMNS);
        assert!(svg(&lines).contains("&lt;b&gt;"));
        assert!(repository().join(PICTURE).is_file());
    }
}
