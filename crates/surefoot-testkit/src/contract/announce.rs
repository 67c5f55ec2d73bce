//! Announcements: where a store carries them, every listener hears them; where it does not, it says so.

use std::sync::Arc;
use std::time::Duration;

use surefoot_core::port::Store;

use super::fixture::queue;

/// How many announcements two may come as.
const HEARD_MAX: usize = 20;

/// How long an announcement may take.
const PATIENCE: Duration = Duration::from_secs(20);

pub async fn every_listener_hears_where_announcements_are_carried(store: Arc<dyn Store>) {
    let Some(mut first) = store.announcements().await.expect("announcements") else {
        store
            .announce(&[queue("a")])
            .await
            .expect("announcing to nobody is no fault");
        return;
    };
    let mut second = store
        .announcements()
        .await
        .expect("announcements")
        .expect("it is carried");
    store
        .announce(&[queue("a"), queue(&"b".repeat(128))])
        .await
        .expect("announce");
    for listener in [&mut first, &mut second] {
        let mut heard = Vec::new();
        for _ in 0..HEARD_MAX {
            if heard.len() == 2 {
                break;
            }
            let next = tokio::time::timeout(PATIENCE, listener.next())
                .await
                .expect("it is heard in time");
            let next = next.expect("next");
            // Best effort allows the same one twice, not another one.
            if !heard.contains(&next) {
                heard.push(next);
            }
        }
        heard.sort();
        assert_eq!(heard, [queue("a"), queue(&"b".repeat(128))]);
    }
    store.announce(&[]).await.expect("announce");
}
