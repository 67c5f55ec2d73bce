//! An engine is held to its checklist: what was not reviewed does not run.

use surefoot::checklist::{Answers, CallFacts, Checklist, EffectAnswers, FaultName, Waiver};
use surefoot::core::effect::EffectRecovery;
use surefoot::core::id::Worker;
use surefoot::core::policy::JobPolicy;
use surefoot::core::port::Queues;
use surefoot::{EffectBegun, StartError};

use crate::effects_pull::declared;
use crate::effects_world::{Act, How, Provider, SETTLES, TIMEOUT, end, policy, refunding};
use crate::world::{Task, World};

/// What the author of the refund answers.
fn answers(name: &str, recovery: EffectRecovery) -> Answers {
    Answers {
        side_effect: Some("pays back".to_owned()),
        effects: vec![EffectAnswers {
            name: name.to_owned(),
            recovery,
            verify: None,
            call: Some(CallFacts::once("psp", TIMEOUT)),
        }],
        alert: Some("ann".to_owned()),
        // The waits of these tests are exact.
        waivers: vec![Waiver {
            fault: FaultName::NoJitter,
            reason: "one job at a time".to_owned(),
        }],
    }
}

const VERIFY: EffectRecovery = EffectRecovery::Verify {
    settles_within: SETTLES,
};

/// A refund that verifies, run under this checklist: how it ends, and how often the provider was called.
async fn held_to(list: Checklist) -> (String, usize) {
    let world = World::new();
    let provider = Provider::doing(&[Act::Answer]);
    let engine = world
        .node()
        .handle(refunding(&provider, How::Verify), policy())
        .checklist(list)
        .start()
        .await
        .unwrap();
    let job = engine.enqueue(Task::n(7)).await.unwrap().id;
    (end(&world, job).await, provider.calls.len())
}

#[tokio::test(start_paused = true)]
async fn an_effect_that_was_not_reviewed_is_not_sent() {
    let list = |name, recovery| Checklist::new().job::<Task>(policy(), answers(name, recovery));
    for (name, recovery, expected) in [
        ("psp.refund", VERIFY, ("succeeded 7", 1)),
        ("psp.charge", VERIFY, ("permanent", 0)),
        ("psp.refund", EffectRecovery::Repeatable, ("permanent", 0)),
    ] {
        let (end, calls) = held_to(list(name, recovery).unwrap()).await;
        assert_eq!((end.as_str(), calls), expected, "{name} {recovery:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_effect_of_a_pull_worker_that_was_not_reviewed_is_not_sent() {
    let (worker, kinds) = (Worker::new("python-1").unwrap(), [Task::kind()]);
    for (name, recovery, sent) in [
        ("psp.refund", VERIFY, true),
        ("psp.charge", VERIFY, false),
        ("psp.refund", EffectRecovery::Repeatable, false),
    ] {
        let list = Checklist::new().job::<Task>(policy(), answers(name, recovery));
        let builder = World::new().node().declare(Task::kind(), policy());
        let engine = builder.checklist(list.unwrap()).start().await.unwrap();
        let client = engine.client();
        client.enqueue_job(&Task::n(7)).await.unwrap();
        let leased = client.lease(&worker, &kinds, Queues::All, 1).await.unwrap();
        let (job, epoch) = (leased[0].id, leased[0].state.epoch);
        let begun = client.begin_effect(job, epoch, declared(VERIFY)).await;
        let (expected, effects) = match begun.unwrap() {
            EffectBegun::Send { .. } => (true, 1),
            EffectBegun::Refused(_) => (false, 0),
            other => panic!("{other:?}"),
        };
        assert_eq!(expected, sent, "{name} {recovery:?}");
        assert_eq!(client.effects(job).await.unwrap().len(), effects);
    }
}

#[tokio::test(start_paused = true)]
async fn a_kind_that_was_not_reviewed_as_it_is_run_does_not_start() {
    let longer = JobPolicy {
        attempts_max: 9,
        ..policy()
    };
    let answers = answers("psp.refund", VERIFY);
    for (list, wanted) in [
        (Checklist::new(), "is not on the checklist"),
        (
            Checklist::new().job::<Task>(longer, answers).unwrap(),
            "is run by another policy",
        ),
    ] {
        let provider = Provider::doing(&[]);
        let builder = World::new().node();
        let builder = builder.handle(refunding(&provider, How::Verify), policy());
        let Err(StartError::Unsound(faults)) = builder.checklist(list).start().await else {
            panic!("it started");
        };
        assert!(
            faults.len() == 1 && faults[0].contains(wanted),
            "{faults:?}"
        );
    }
}

#[test]
fn what_is_left_out_is_a_fault_and_what_is_accepted_is_not() {
    let list = |answers| Checklist::new().job::<Task>(policy(), answers).unwrap();
    let full = answers("psp.refund", VERIFY);
    let reviewed = list(full.clone()).review();
    assert!(reviewed.is_green(), "{reviewed}");
    let text = reviewed.to_string();
    assert!(text.contains("accepted: one job at a time") && text.ends_with("ok"));
    assert_eq!(reviewed.kinds[0].review.answers.len(), 18);

    let silent = Answers {
        alert: None,
        ..full.clone()
    };
    let reviewed = list(silent).review();
    assert!(!reviewed.is_green());
    assert!(reviewed.to_string().contains("no_alert"), "{reviewed}");

    let unwaived = Answers {
        waivers: Vec::new(),
        ..full
    };
    assert!(!list(unwaived).review().is_green());
    assert!(!Checklist::new().review().is_green(), "nothing is answered");
}

#[test]
fn each_effect_is_asked_about_by_itself_and_a_kind_without_one_does_nothing_outside() {
    let mut two = answers("psp.refund", VERIFY);
    two.effects.push(EffectAnswers {
        name: "mail.send".to_owned(),
        recovery: EffectRecovery::AtMostOnce,
        verify: None,
        call: None,
    });
    let list = Checklist::new().job::<Task>(policy(), two).unwrap();
    let faults: Vec<String> = list.review().faults().map(|(whose, _)| whose).collect();
    let mail = faults.iter().filter(|whose| whose.contains("mail.send"));
    assert_eq!(
        mail.count(),
        2,
        "it has attempts to spare, and no jitter: {faults:?}"
    );

    let none = Answers {
        effects: Vec::new(),
        ..answers("psp.refund", VERIFY)
    };
    let list = Checklist::new().job::<Task>(policy(), none).unwrap();
    let text = list.review().to_string();
    assert!(text.contains("does nothing outside"), "{text}");
}
