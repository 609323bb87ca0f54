//! How a task was verified, as JSON.

use planwright_run::journal::Verified;
use planwright_run::verify::passed;
use serde::Serialize;

/// How a task was verified, as JSON.
#[derive(Serialize)]
pub struct VerifiedReport {
    pub task: String,
    /// Whether commands were run, and all of them succeeded.
    pub passed: bool,
    /// Whether somebody wanted no verification.
    pub waived: bool,
    pub receipts: Vec<ReceiptReport>,
    /// Criteria that no rule covers.
    pub unverified: Vec<String>,
}

#[derive(Serialize)]
pub struct ReceiptReport {
    pub command: Vec<String>,
    pub passed: bool,
    pub exit: String,
    pub milliseconds: u64,
    pub digest: String,
    pub tail: String,
    pub commit: Option<String>,
}

impl From<&Verified> for VerifiedReport {
    fn from(verified: &Verified) -> Self {
        let receipts = verified.receipts.iter().map(|receipt| ReceiptReport {
            command: receipt.command.clone(),
            passed: passed(receipt),
            exit: receipt.exit.clone(),
            milliseconds: receipt.milliseconds,
            digest: receipt.digest.clone(),
            tail: receipt.tail.clone(),
            commit: receipt.commit.clone(),
        });
        VerifiedReport {
            task: verified.task.clone(),
            passed: verified.passed,
            waived: verified.waived,
            receipts: receipts.collect(),
            unverified: verified.unverified.clone(),
        }
    }
}
