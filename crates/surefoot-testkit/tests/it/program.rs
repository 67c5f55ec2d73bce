//! Programs: the same twice over the model, and such that everything happens in them.

use std::sync::Arc;

use surefoot_core::port::Store;
use surefoot_core::time::Timestamp;
use surefoot_testkit::program::{drawn, request_program, run, same_as_model};
use surefoot_testkit::{FaultyStore, ManualClock, MemoryStore};

fn memory() -> Arc<dyn Store> {
    Arc::new(MemoryStore::new(Arc::new(ManualClock::new(Timestamp::MIN))))
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap()
}

#[test]
fn the_model_agrees_with_itself() {
    same_as_model(&runtime(), 1, 300, || async {
        Arc::new(FaultyStore::over(memory(), 1)) as Arc<dyn Store>
    });
}

#[test]
fn a_seed_draws_the_same_programs() {
    assert_eq!(drawn(3, 20), drawn(3, 20));
    assert_ne!(drawn(3, 20), drawn(4, 20));
    assert_eq!(drawn(3, 20).len(), 20);
}

/// What must happen somewhere in a few hundred programs, or they compare less than they seem to.
const HAPPENS: &[&str] = &[
    "Created(j",
    "Existing(j",
    "Conflict(j",
    "Applied",
    "Already",
    "Stale",
    "Held { until",
    "cancel_requested: true",
    "extend -> [Lost",
    "next_due: Some",
    "lapsed -> [Job",
    "reap -> [Applied",
    "expire -> [ExpiredJob { job: j",
    "cancel -> (j2), Done)",
    ", Requested)",
    ", Refused(Pending))",
    ", Refused(Running))",
    ", Refused(Retrying))",
    ", Refused(Succeeded))",
    ", Refused(Dead))",
    ", Refused(Cancelled))",
    ", Refused(Ignored))",
    ", NeedsEffectChoice)",
    ", NotFound)",
    "generation: 2",
    "revision: 2",
    "verb: ReplayNew",
    "reason: Permanent",
    "reason: Exhausted",
    "reason: Deadline",
    "reason: CrashLoop",
    "reason: OutcomeUnknown",
    "count: 3",
    "recovery: Some(AtMostOnce)",
    "resume -> true",
    "maintain -> 1",
    "maintain -> 2",
    "job -> None",
    "starts: 4",
    "deferred: 2",
    "filtered -> [j",
    "state: Verifying",
    ", Refused(Verifying))",
    "\nhastened -> ",
    "\nnot hastened -> ",
    "late: Some",
    "write_effects -> [Applied",
    "write_effects -> [Already",
    "write_effects -> [Stale",
    "Changed(Some",
    "write_effects -> [NotFound",
    "Applied, Applied]",
    "state: Intended",
    "state: Confirmed",
    "state: Rejected",
    "state: Unknown",
    "state: Absent",
    "state: NeedsHuman",
    "disputes: [Dispute",
    "generation: 2, terms",
    "nothing to write -> \"AskAt",
    "nothing to write -> \"Ask(",
    "nothing to write -> \"Person",
    "nothing to write -> \"Return",
    "nothing to write -> \"TooEarly",
];

#[test]
fn everything_happens_in_programs() {
    let runtime = runtime();
    let mut transcript = String::new();
    for program in drawn(1, 800) {
        for line in runtime.block_on(run(memory(), &program)) {
            transcript.push('\n');
            transcript.push_str(&line.replace("JobId(", ""));
        }
    }
    let missing: Vec<_> = HAPPENS
        .iter()
        .filter(|happens| !transcript.contains(**happens))
        .collect();
    assert!(missing.is_empty(), "{missing:?} do not happen");
}

/// What must happen somewhere in a few programs over requests.
const REQUESTS: &[&str] = &[
    "begin -> Run(",
    "begin -> Replay {",
    "begin -> Gone {",
    "begin -> Mismatch {",
    "begin -> Running {",
    "begin -> UnknownOutcome {",
    "write -> Applied",
    "write -> Already",
    "write -> Changed(Some",
    "write -> Changed(None)",
    "state: NeedsHuman",
    "state: Released",
    "state: Expired",
    "disputes: [Dispute",
    "epoch: Epoch(2)",
    "forgotten: 1, more: true",
    "expired: 1",
];

#[test]
fn everything_happens_to_requests() {
    let runtime = runtime();
    let mut transcripts = String::new();
    for seed in 0..20 {
        let program = async || {
            let store = MemoryStore::new(Arc::new(ManualClock::new(Timestamp::MIN)));
            request_program(Arc::new(store), seed, 400).await
        };
        let (first, second) = runtime.block_on(async { (program().await, program().await) });
        assert_eq!(first, second, "a seed is one program");
        transcripts.push_str(&first.join("\n"));
    }
    for what in REQUESTS {
        assert!(transcripts.contains(what), "it never came to: {what}");
    }
}
