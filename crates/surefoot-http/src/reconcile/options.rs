//! How a reconciler works: plain data with documented defaults.

use std::time::Duration;

use surefoot_core::effect::VerifyPlan;

/// How a reconciler works.
#[derive(Clone, Debug)]
pub struct ReconcilerOptions {
    /// How often to ask, and when a person decides, for routes that have no plan of their own
    /// ([`RoutePolicy::asks`](crate::RoutePolicy::asks)).
    pub plan: VerifyPlan,
    /// The longest that one question may take. Default 10 s.
    pub ask_timeout: Duration,
    /// The longest that one call of the store may take. Default 5 s.
    pub store_timeout: Duration,
    /// How many questions about requests of one operation are asked at once, so that one whose questions get no answer does
    /// not hold up the others. Default 8.
    pub asks_at_once: usize,
    /// How long to rest between two looks at what is due. Default 1 s.
    pub every: Duration,
    /// How many questions are asked at once in all, and how many requests one [`round`](super::Reconciler::round) takes, at
    /// most [`PAGE_MAX`](surefoot_core::port::PAGE_MAX). Default 100.
    pub batch: u32,
}

impl Default for ReconcilerOptions {
    fn default() -> Self {
        Self {
            plan: VerifyPlan::default(),
            ask_timeout: Duration::from_secs(10),
            store_timeout: Duration::from_secs(5),
            asks_at_once: 8,
            every: Duration::from_secs(1),
            batch: 100,
        }
    }
}

impl ReconcilerOptions {
    /// Every contradiction, each with its remedy; empty when there is none. `settles_within` is the longest of the routes
    /// that go by [`plan`](Self::plan).
    #[must_use]
    pub fn validate(&self, settles_within: Duration) -> Vec<String> {
        let mut faults = self.plan.validate(settles_within);
        let zeros = [
            ("ask_timeout", self.ask_timeout.is_zero()),
            ("store_timeout", self.store_timeout.is_zero()),
            ("asks_at_once", self.asks_at_once == 0),
            ("every", self.every.is_zero()),
            ("batch", self.batch == 0),
        ];
        for (name, _) in zeros.into_iter().filter(|(_, is_zero)| *is_zero) {
            faults.push(format!(
                "{name} is 0, so nothing would ever be asked; raise it"
            ));
        }
        faults
    }
}
