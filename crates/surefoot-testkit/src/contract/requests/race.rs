//! Many at once: one runs, one word counts, and all are told the same.

use std::sync::Arc;

use surefoot_core::port::{RequestWritten, Requests};
use surefoot_core::request::{Arrived, Kept, RequestStateName, RequestVerdict, lapse};

use super::fixture::{
    START, answered, applied, arrival, at, at_once, begin, claimed, in_state, plan, record,
    response, told, verified, write,
};

const MANY: usize = 100;

/// How many keys are asked for by as many callers, each by all of them.
const KEYS: usize = 24;

pub async fn one_of_a_hundred_arrivals_runs(store: Arc<dyn Requests>) {
    for round in 0..5 {
        let key = format!("k-{round}");
        let answers = at_once(MANY, |_| {
            let (store, new) = (store.clone(), arrival(&key));
            async move { begin(&*store, &new, START).await }
        })
        .await;
        let ran: Vec<_> = answers
            .iter()
            .filter(|answer| matches!(answer, Arrived::Run(_)))
            .collect();
        assert_eq!(ran.len(), 1, "no-double-effect: exactly one runs");
        let told = answers
            .iter()
            .filter(|answer| matches!(answer, Arrived::Running { .. }))
            .count();
        assert_eq!(told, MANY - 1, "and all others are told that it runs");
        assert_eq!(*ran[0], Arrived::Run(Box::new(record(&*store, &key).await)));
    }
}

pub async fn one_of_a_hundred_arrivals_runs_after_a_release(store: Arc<dyn Requests>) {
    for round in 0..5 {
        let key = format!("k-{round}");
        let free = in_state(&*store, &key, RequestStateName::Released).await;
        let answers = at_once(MANY, |_| {
            let (store, new) = (store.clone(), arrival(&key));
            async move { begin(&*store, &new, at(6)).await }
        })
        .await;
        let ran = answers
            .iter()
            .filter(|answer| matches!(answer, Arrived::Run(_)))
            .count();
        assert_eq!(ran, 1, "no-double-effect: exactly one runs");
        let told = answers
            .iter()
            .filter(|answer| matches!(answer, Arrived::Running { .. }))
            .count();
        assert_eq!(told, MANY - 1);
        assert_eq!(record(&*store, &key).await.epoch, free.epoch.next());
    }
}

pub async fn all_of_a_hundred_arrivals_get_the_answer(store: Arc<dyn Requests>) {
    in_state(&*store, "k", RequestStateName::Finished).await;
    let answers = at_once(MANY, |_| {
        let (store, new) = (store.clone(), arrival("k"));
        async move { begin(&*store, &new, at(6)).await }
    })
    .await;
    let Kept::Response(stored) = response(201) else {
        panic!("a response")
    };
    for answer in answers {
        let expected = Arrived::Replay {
            response: Box::new(stored.clone()),
            finished_at: at(5),
        };
        assert_eq!(answer, expected, "one-outcome: nobody waits for anybody");
    }
}

pub async fn many_keys_at_once_run_once_each(store: Arc<dyn Requests>) {
    let answers = at_once(KEYS, |number| {
        let store = store.clone();
        async move {
            let mut ran = 0;
            for turn in 0..KEYS {
                let key = format!("k-{}", (number * 37 + turn) % KEYS);
                if let Arrived::Run(request) = begin(&*store, &arrival(&key), START).await {
                    ran += 1;
                    let written = write(&*store, &answered(&request, at(1))).await;
                    assert_eq!(
                        written,
                        RequestWritten::Applied,
                        "no-zombie-write: its holder finishes it"
                    );
                }
            }
            ran
        }
    })
    .await;
    assert_eq!(
        answers.iter().sum::<usize>(),
        KEYS,
        "no-double-effect: each key once"
    );
    for number in 0..KEYS {
        let state = record(&*store, &format!("k-{number}")).await.state.name();
        assert_eq!(state, RequestStateName::Finished, "no-lost-intent");
    }
}

pub async fn repeats_of_one_arrival_are_one_claim(store: Arc<dyn Requests>) {
    let new = arrival("k");
    let answers = at_once(20, |_| {
        let (store, new) = (store.clone(), new.clone());
        async move { begin(&*store, &new, START).await }
    })
    .await;
    let request = record(&*store, "k").await;
    assert_eq!((request.version, request.id), (1, new.id));
    for answer in answers {
        // While the first call is open, its repeats may be told that it runs; none is told of another claim.
        match answer {
            Arrived::Run(told) => assert_eq!(*told, request),
            Arrived::Running { .. } => {}
            other => panic!("one claim: {other:?}"),
        }
    }
}

pub async fn a_finish_and_a_lapse_at_once_have_one_winner(store: Arc<dyn Requests>) {
    for round in 0..20 {
        let key = format!("k-{round}");
        let request = claimed(&*store, &key).await;
        let lapsed = lapse(&request, at(40)).expect("its lease is over");
        let words = [answered(&request, at(40)), lapsed];
        let written = at_once(2, |number| {
            let (store, word) = (store.clone(), words[number].clone());
            async move { write(&*store, &word).await }
        })
        .await;
        let winner = usize::from(written[0] != RequestWritten::Applied);
        assert_eq!(written[winner], RequestWritten::Applied);
        let changed = RequestWritten::Changed(Some(Box::new(words[winner].clone())));
        assert_eq!(
            written[1 - winner],
            changed,
            "one-outcome: the other one reads what was written"
        );
        let last = record(&*store, &key).await;
        assert_eq!(last, words[winner]);
        if winner == 1 {
            // The holder reads on and is heard all the same: nobody else has said what became of it.
            applied(&*store, answered(&last, at(41))).await;
        }
        assert_eq!(
            record(&*store, &key).await.state.name(),
            RequestStateName::Finished
        );
    }
}

pub async fn of_two_witnesses_the_first_counts(store: Arc<dyn Requests>) {
    for round in 0..20 {
        let key = format!("k-{round}");
        let request = in_state(&*store, &key, RequestStateName::Unknown).await;
        let words = [
            told(&request, RequestVerdict::Happened(response(201)), at(60)),
            told(&request, RequestVerdict::DidNotHappen, at(60)),
        ];
        let written = at_once(2, |number| {
            let (store, word) = (store.clone(), words[number].clone());
            async move { write(&*store, &word).await }
        })
        .await;
        let winner = usize::from(written[0] != RequestWritten::Applied);
        let changed = RequestWritten::Changed(Some(Box::new(words[winner].clone())));
        assert_eq!(
            (&written[winner], &written[1 - winner]),
            (&RequestWritten::Applied, &changed)
        );
        assert_eq!(
            record(&*store, &key).await,
            words[winner],
            "one-outcome: the first word stands"
        );
    }
}

pub async fn of_two_nodes_one_asks(store: Arc<dyn Requests>) {
    let request = in_state(&*store, "k", RequestStateName::Unknown).await;
    let still = RequestVerdict::StillUnknown {
        ask_again_in: Some(plan().give_up_after / 2),
    };
    let written = at_once(10, |_| {
        let (store, word) = (store.clone(), verified(&request, still.clone(), at(60)));
        async move { write(&*store, &word).await }
    })
    .await;
    let applied = written
        .iter()
        .filter(|written| **written == RequestWritten::Applied)
        .count();
    let already = written
        .iter()
        .filter(|written| **written == RequestWritten::Already)
        .count();
    assert_eq!((applied, already), (1, 9), "the same word is written once");
}
