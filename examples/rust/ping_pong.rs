//! Two tasks hand each other the turn, and measure what a turn costs.

use std::error::Error;

use alchemy::{Date, Semaphore, Task, Timeout};

const ROUNDS: u32 = 10_000;

fn main() -> Result<(), Box<dyn Error>> {
    let (ping, pong) = (Semaphore::new(0)?, Semaphore::new(0)?);
    // Tasks share references; the owners above delete the semaphores when `main` is done with them.
    let (to_pong, to_ping) = (*ping, *pong);

    let server = Task::builder().name("server").priority(20).spawn(move || -> alchemy::Result<()> {
        for _ in 0..ROUNDS {
            to_pong.wait(Timeout::INFINITE)?;
            to_ping.post()?;
        }
        Ok(())
    })?;
    let client = Task::builder().name("client").priority(10).spawn(move || -> alchemy::Result<_> {
        let start = Date::now();
        for _ in 0..ROUNDS {
            to_pong.post()?;
            to_ping.wait(Timeout::INFINITE)?;
        }
        Ok(Date::now() - start)
    })?;

    let time = client.join()??;
    server.join()??;
    println!("{ROUNDS} rounds, {:?} each", time / ROUNDS);
    Ok(())
}
