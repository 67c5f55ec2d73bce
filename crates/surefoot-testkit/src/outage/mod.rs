//! Outages in virtual time: a dependency that follows a script, callers at a steady pace, and a report that is the same for
//! the same seed. It knows nothing of what protects the calls: that is what is tried.
//!
//! It must never read a real clock or a real dice: an hour of outage takes as long as computing it.

mod dependency;
mod report;

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

pub use dependency::{Met, ScriptedDependency, Weather};
pub use report::OutageReport;

/// Fair weather that follows each script, to see how calls come back.
const AFTERWARDS: Duration = Duration::from_secs(10);

/// An outage to be lived through.
#[derive(Clone, Debug)]
pub struct Outage {
    /// What the dependency does, and how long; fair weather follows for ten seconds.
    pub script: Vec<(Duration, Weather)>,
    /// What the dependency's dice are made of.
    pub seed: u64,
    /// How many calls begin each second, one after the other; at least 1.
    pub calls_per_second: u32,
}

impl Outage {
    /// Lives through it, in a runtime of its own with a paused clock. `protect` is called once inside that runtime and makes
    /// what the callers share; `call` makes one call with it, sends to the dependency as often as it likes, and says
    /// whether the call succeeded.
    ///
    /// # Errors
    /// The runtime could not be made, or a call panicked.
    pub fn run<P, C, F>(
        &self,
        protect: impl FnOnce() -> P,
        call: C,
    ) -> std::io::Result<OutageReport>
    where
        P: Clone + Send + 'static,
        C: Fn(P, Arc<ScriptedDependency>) -> F,
        F: Future<Output = bool> + Send + 'static,
    {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build()?;
        runtime.block_on(self.lived(protect(), call))
    }

    async fn lived<P, C, F>(&self, shared: P, call: C) -> std::io::Result<OutageReport>
    where
        P: Clone + Send + 'static,
        C: Fn(P, Arc<ScriptedDependency>) -> F,
        F: Future<Output = bool> + Send + 'static,
    {
        let dependency = Arc::new(ScriptedDependency::new(self.script.clone(), self.seed));
        let pace = Duration::from_secs(1) / self.calls_per_second.max(1);
        let ends = self
            .script
            .iter()
            .map(|(lasts, _)| *lasts)
            .sum::<Duration>();
        let mut callers = Vec::new();
        while dependency.elapsed() < ends + AFTERWARDS {
            tokio::time::sleep(pace).await;
            let calling = call(shared.clone(), Arc::clone(&dependency));
            let began = dependency.elapsed();
            callers.push(tokio::spawn(async move { (began, calling.await) }));
        }
        let mut ended = Vec::with_capacity(callers.len());
        for caller in callers {
            ended.push(caller.await.map_err(std::io::Error::other)?);
        }
        Ok(OutageReport::new(&ended, dependency.sends(), ends))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn blackout() -> Outage {
        let seconds = Duration::from_secs;
        Outage {
            script: vec![(seconds(5), Weather::Fair), (seconds(10), Weather::Down)],
            seed: 7,
            calls_per_second: 100,
        }
    }

    /// Sends up to `sends` times.
    fn naive(sends: u32) -> OutageReport {
        let call = move |(), dependency: Arc<ScriptedDependency>| async move {
            for _ in 0..sends {
                if dependency.send().await == Met::Answered {
                    return true;
                }
            }
            false
        };
        blackout().run(|| (), call).unwrap()
    }

    #[test]
    fn what_nobody_protects_multiplies() {
        let (once, four) = (naive(1), naive(4));
        assert_eq!((once.calls, once.sends), (2_500, 2_500));
        assert_eq!(four.sends, 1_500 + 4 * 1_000);
        assert_eq!(once.goodput(), 0.6);
        assert_eq!(once.recovery, Some(Duration::ZERO));
    }

    #[test]
    fn the_same_seed_gives_the_same_report() {
        assert_eq!(naive(3), naive(3));
    }
}
