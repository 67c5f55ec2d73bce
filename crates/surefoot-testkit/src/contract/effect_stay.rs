//! Effects are read by job and place, and stay as long as their job.

use std::sync::Arc;
use std::time::Duration;

use surefoot_core::effect::Effect;
use surefoot_core::id::JobId;
use surefoot_core::job::LeasedJob;
use surefoot_core::port::{
    BATCH_MAX, EffectWrite, EffectWritten, NewJob, Replay, ReplayEffect, Steered, Store,
};

use super::fixture::effect::{confirmed, effects, free, held, intended, write, write_all, wrote};
use super::fixture::{
    START, applied, at, by, created, fresh_id, job, payload, permanent, running, take_one,
    transient, verifying,
};

const DAY: Duration = Duration::from_secs(86_400);

pub async fn effects_come_by_job_and_place(store: Arc<dyn Store>) {
    let mut jobs = Vec::new();
    for number in 0..3 {
        jobs.push(running(&*store, &format!("kind-{number}"), START).await);
    }
    let of = |job: &LeasedJob, places: &[u32]| -> Vec<Effect> {
        places.iter().map(|place| intended(job, *place)).collect()
    };
    for (job, places) in [(&jobs[0], [10, 2, 0]), (&jobs[2], [100, 9, 11])] {
        for effect in of(job, &places) {
            wrote(&*store, &held(job, effect)).await;
        }
    }
    let first = of(&jobs[0], &[0, 2, 10]);
    let third = of(&jobs[2], &[9, 11, 100]);
    let (one, two, three) = (jobs[0].id, jobs[1].id, jobs[2].id);
    let read = async |asked: &[JobId]| store.effects(asked).await.expect("effects");
    assert_eq!(read(&[]).await, []);
    assert_eq!(read(&[two]).await, []);
    assert_eq!(read(&[one]).await, first);
    assert_eq!(
        read(&[one, three]).await,
        [first.clone(), third.clone()].concat()
    );
    assert_eq!(
        read(&[three, fresh_id(), two, one]).await,
        [third, first].concat(),
        "in the order asked"
    );
}

pub async fn effects_stay_as_long_as_the_job(store: Arc<dyn Store>) {
    let new = job("refund");
    created(&*store, std::slice::from_ref(&new), START).await;
    let first = take_one(&*store, "refund", START).await;
    let known = vec![confirmed(&intended(&first, 0), at(1)), intended(&first, 1)];
    wrote(&*store, &held(&first, intended(&first, 0))).await;
    for effect in &known {
        wrote(&*store, &held(&first, effect.clone())).await;
    }
    let stay = async |why: &str| {
        assert_eq!(
            effects(&*store, new.id).await,
            known,
            "no-double-effect: {why}"
        );
    };
    applied(&*store, &transient(&first, at(1)), at(1)).await;
    stay("a retry").await;
    let second = take_one(&*store, "refund", at(600)).await;
    stay("the next attempt").await;
    applied(&*store, &verifying(&second, at(601), at(600)), at(600)).await;
    stay("a question").await;
    let mut now = 601;
    for effect in [ReplayEffect::Same, ReplayEffect::New] {
        let leased = take_one(&*store, "refund", at(now)).await;
        applied(&*store, &permanent(&leased, "no", at(now)), at(now)).await;
        stay("a dead letter").await;
        let edited = store
            .edit(new.id, &payload("2"), &by("typo"), at(now))
            .await;
        assert_eq!(edited.expect("edit"), Steered::Done);
        stay("an edit").await;
        assert_eq!(
            store
                .maintain(DAY, at(now).after(DAY * 100))
                .await
                .expect("maintain")
                .jobs_dropped,
            0
        );
        let replay = Replay {
            effect: Some(effect),
            by: by("account made"),
        };
        now += 1;
        let replayed = store.replay(new.id, &replay, at(now)).await;
        assert_eq!(replayed.expect("replay"), Steered::Done);
        stay("a replay").await;
    }
    let last = take_one(&*store, "refund", at(now)).await;
    applied(&*store, &permanent(&last, "no", at(now)), at(now)).await;
    let ignored = store.ignore(new.id, &by("enough"), at(now)).await;
    assert_eq!(ignored.expect("ignore"), Steered::Done);
    stay("an ignored letter").await;
    left(&*store, &new, &free(known[0].clone())).await;
}

/// The job leaves history, and its effects with it, also where its id comes again.
async fn left(store: &dyn Store, new: &NewJob, known: &EffectWrite) {
    let much_later = START.after(DAY * 100);
    let maintained = store.maintain(DAY, much_later).await.expect("maintain");
    assert_eq!(maintained.jobs_dropped, 1);
    assert_eq!(effects(store, new.id).await, []);
    assert_eq!(write(store, known).await, EffectWritten::NotFound);
    created(store, std::slice::from_ref(new), much_later).await;
    assert_eq!(effects(store, new.id).await, [], "it is another job");
    assert_eq!(write(store, known).await, EffectWritten::Changed(None));
}

pub async fn a_full_batch_of_effects_is_written(store: Arc<dyn Store>) {
    let leased = running(&*store, "refund", START).await;
    let places = 0..u32::try_from(BATCH_MAX).expect("it fits");
    let all: Vec<_> = places.map(|place| intended(&leased, place)).collect();
    let writes: Vec<_> = all
        .iter()
        .rev()
        .map(|effect| held(&leased, effect.clone()))
        .collect();
    let answers = write_all(&*store, &writes).await;
    assert_eq!(answers, vec![EffectWritten::Applied; BATCH_MAX]);
    assert_eq!(effects(&*store, leased.id).await, all);
    let answers = write_all(&*store, &writes).await;
    assert_eq!(answers, vec![EffectWritten::Already; BATCH_MAX]);
}
