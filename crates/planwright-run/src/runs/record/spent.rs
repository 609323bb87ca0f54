//! Amounts of money, tokens, attempts and time, and their sums.

use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Spent {
    /// US dollars; none where no agent reported any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
    /// Tokens sent and received; none where no agent reported any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<[u64; 2]>,
    #[serde(default)]
    pub n_attempts: u64,
    #[serde(default)]
    pub milliseconds: u64,
}

impl Spent {
    pub fn pay(&mut self, cost_usd: Option<f64>, tokens: Option<[u64; 2]>) {
        if let Some(cost) = cost_usd {
            *self.cost_usd.get_or_insert(0.0) += cost;
        }
        if let Some([sent, received]) = tokens {
            let [all_sent, all_received] = self.tokens.unwrap_or_default();
            self.tokens = Some([all_sent.saturating_add(sent), all_received.saturating_add(received)]);
        }
    }

    pub fn pass(&mut self, milliseconds: u64) {
        self.milliseconds = self.milliseconds.saturating_add(milliseconds);
    }

    pub fn with(&self, other: &Spent) -> Spent {
        let mut sum = self.clone();
        sum.pay(other.cost_usd, other.tokens);
        sum.pass(other.milliseconds);
        sum.n_attempts = sum.n_attempts.saturating_add(other.n_attempts);
        sum
    }
}
