//! The money and tokens that an agent reports.

/// Money and tokens, where the agent reports them.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Usage {
    /// US dollars.
    pub cost_usd: Option<f64>,
    /// Tokens sent.
    pub tokens_in: Option<u64>,
    /// Tokens received.
    pub tokens_out: Option<u64>,
}

impl Usage {
    /// Returns the tokens sent and received; none where neither is reported.
    pub fn tokens(self) -> Option<[u64; 2]> {
        let is_reported = self.tokens_in.is_some() || self.tokens_out.is_some();
        is_reported.then(|| [self.tokens_in.unwrap_or(0), self.tokens_out.unwrap_or(0)])
    }

    /// Returns the sum of both.
    #[must_use]
    pub fn with(self, more: Usage) -> Usage {
        Usage {
            cost_usd: added(self.cost_usd, more.cost_usd, |one, other| one + other),
            tokens_in: added(self.tokens_in, more.tokens_in, u64::saturating_add),
            tokens_out: added(self.tokens_out, more.tokens_out, u64::saturating_add),
        }
    }

    /// Fills what is not reported from another report.
    #[must_use]
    pub fn or(self, other: Usage) -> Usage {
        Usage {
            cost_usd: self.cost_usd.or(other.cost_usd),
            tokens_in: self.tokens_in.or(other.tokens_in),
            tokens_out: self.tokens_out.or(other.tokens_out),
        }
    }
}

pub(super) fn added<N>(before: Option<N>, more: Option<N>, sum: impl Fn(N, N) -> N) -> Option<N> {
    match (before, more) {
        (Some(before), Some(more)) => Some(sum(before, more)),
        (before, more) => before.or(more),
    }
}
