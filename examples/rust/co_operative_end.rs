//! A task that works until it is asked to end: its wait returns `Cancelled`, and it returns what it has.

use std::error::Error;
use std::time::Duration;

use alchemy::task::sleep;
use alchemy::{Error as Refusal, Task};

fn main() -> Result<(), Box<dyn Error>> {
    let worker = Task::builder().name("worker").priority(10).spawn(|| {
        let mut rounds = 0;
        loop {
            match sleep(Duration::from_millis(1)) {
                Ok(()) => rounds += 1,
                Err(Refusal::Cancelled) => return rounds,
                Err(error) => panic!("{error}"),
            }
        }
    })?;
    sleep(Duration::from_millis(20))?;
    worker.task().request_end()?;
    println!("the worker did {} rounds", worker.join()?);
    Ok(())
}
