//! What a row that is broken says. That every shape of a request reads back is a case of the contract.

use surefoot_core::id::{Tenant, Worker};
use surefoot_core::request::{
    Arrived, Clocks, Content, Fingerprint, Identity, NewRequest, Operation, Request, RequestId,
    RequestKey, RequestStateName, arrive,
};
use surefoot_core::time::Timestamp;

use super::{Row, decode, encode};

const AT: Timestamp = Timestamp::from_micros(1_772_366_400_000_001);

fn request() -> Request {
    let identity = Identity {
        tenant: Tenant::single(),
        key: RequestKey::new("k").unwrap(),
    };
    let operation = Operation::new("POST", "/payments").unwrap();
    let content = Content {
        operation: &operation,
        path: "/payments",
        query: None,
        content_type: None,
        body: b"x",
    };
    let new = NewRequest {
        id: RequestId::new(AT, [7; 10]),
        fingerprint: Fingerprint::of(&identity, &content),
        identity,
        operation,
        clocks: Clocks::default(),
        holder: Worker::new("node-1").unwrap(),
    };
    match arrive(None, &new, AT) {
        Arrived::Run(request) => *request,
        other => panic!("{other:?}"),
    }
}

/// The document is on disk: it stays as it is.
#[test]
fn a_claim_has_this_document() {
    let row = encode(&request()).unwrap();
    let expected = concat!(
        r#"{"format":1,"clocks":{"lease":60000000,"retention":86400000000,"tombstone":604800000000,"#,
        r#""settles_within":60000000},"epoch":1,"settles_at":1772366520000001,"state":{"claimed":{"#,
        r#""claim":"019ca945-0a00-7707-8707-070707070707","holder":"node-1","since":1772366400000001,"#,
        r#""lease_until":1772366460000001}}}"#,
    );
    assert_eq!(row.document, expected);
    assert_eq!(
        (row.due_at, row.leaves_at),
        (Some(1_772_366_460_000_001), None)
    );
    assert_eq!(decode(row).unwrap(), request());
}

#[test]
fn a_row_that_nobody_writes_is_a_broken_invariant() {
    type Spoil = fn(&mut Row);
    let table: [(Spoil, &str); 9] = [
        (|row| row.document.insert(0, '['), "at line 1 column"),
        (
            |row| row.document = row.document.replace("\"format\":1", "\"format\":2"),
            "its document has format 2, this build reads 1",
        ),
        (
            |row| row.state = RequestStateName::Finished,
            "its document says that it is claimed, its column finished",
        ),
        (
            |row| row.key = "a b".to_owned(),
            "not visible ASCII at byte 1",
        ),
        (|row| row.tenant = String::new(), "tenant is empty"),
        (
            |row| row.fingerprint.truncate(31),
            "column fingerprint holds",
        ),
        (
            |row| row.claimed_at = -1,
            "-1 microseconds since 1970 is no time that is kept",
        ),
        (|row| row.version = -1, "column version holds -1"),
        (
            |row| row.fields = row.fields.replace(":\"", ":\"zz"),
            "column fields holds the digits",
        ),
    ];
    for (spoil, expected) in table {
        let mut row = encode(&request()).unwrap();
        spoil(&mut row);
        let told = decode(row).unwrap_err().to_string();
        let begins = "broken invariant: the row of request 019ca945-0a00-7707-8707-070707070707: ";
        assert!(
            told.starts_with(begins) && told.contains(expected),
            "{told}"
        );
    }
}
