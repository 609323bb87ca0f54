//! How a task was verified, for programs.

use planwright_run::journal::{ManualVerification, Receipt};
use planwright_run::verify::passed;
use serde::Serialize;

#[derive(Serialize)]
pub struct VerifiedReport {
    pub task: String,
    /// Whether commands were run, and all of them succeeded.
    pub passed: bool,
    /// Whether the user waived verification.
    pub waived: bool,
    pub receipts: Vec<ReceiptReport>,
    /// Criteria without a rule.
    pub unverified: Vec<String>,
    #[serde(skip)]
    pub by: Option<String>,
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

impl From<&Receipt> for ReceiptReport {
    fn from(receipt: &Receipt) -> Self {
        ReceiptReport {
            command: receipt.command.clone(),
            passed: passed(receipt),
            exit: receipt.exit.clone(),
            milliseconds: receipt.milliseconds,
            digest: receipt.digest.clone(),
            tail: receipt.tail.clone(),
            commit: receipt.commit.clone(),
        }
    }
}

impl From<&ManualVerification> for VerifiedReport {
    fn from(verified: &ManualVerification) -> Self {
        let receipts = verified.receipts.iter().map(ReceiptReport::from);
        VerifiedReport {
            task: verified.task.clone(),
            passed: verified.passed,
            waived: verified.waived,
            receipts: receipts.collect(),
            unverified: verified.unverified.clone(),
            by: verified.by.clone(),
        }
    }
}
