// The tandem of two M/M/8/64 stations of mm8.py on ns-3's simulator core: ns3_mm8 ARRIVALS SEED Calendar|Map|Heap
// Prints: events, arrivals, lost at the first station, CPU seconds of the event loop.
// Random numbers come from the C++ library, which is faster than ns-3's own streams.

#include <ns3/core-module.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <random>
#include <string>

namespace
{

constexpr int servers = 8;
constexpr int places = 64;
constexpr double arrivalsPerSecond = 7.2;

std::mt19937_64 bits;
std::exponential_distribution<double> exponential(1.0);
int present[2];
int64_t lost[2];
int64_t events;
int64_t left;

ns3::Time
Draw(double rate)
{
    return ns3::NanoSeconds(static_cast<int64_t>(exponential(bits) / rate * 1e9));
}

void Depart(int station);

void
Enter(int station)
{
    if (present[station] >= places)
    {
        ++lost[station];
        return;
    }
    if (++present[station] <= servers)
    {
        ns3::Simulator::Schedule(Draw(1.0), &Depart, station);
    }
}

void
Depart(int station)
{
    ++events;
    if (--present[station] >= servers)
    {
        ns3::Simulator::Schedule(Draw(1.0), &Depart, station);
    }
    if (station == 0)
    {
        Enter(1);
    }
}

void
Arrive()
{
    ++events;
    if (--left > 0)
    {
        ns3::Simulator::Schedule(Draw(arrivalsPerSecond), &Arrive);
    }
    Enter(0);
}

} // namespace

int
main(int argc, char** argv)
{
    if (argc != 4)
    {
        std::fprintf(stderr, "usage: ns3_mm8 ARRIVALS SEED Calendar|Map|Heap\n");
        return 2;
    }
    const int64_t arrivals = std::atoll(argv[1]);
    left = arrivals;
    bits.seed(std::strtoull(argv[2], nullptr, 10));
    ns3::ObjectFactory scheduler(std::string("ns3::") + argv[3] + "Scheduler");
    ns3::Simulator::SetScheduler(scheduler);
    ns3::Simulator::Schedule(Draw(arrivalsPerSecond), &Arrive);
    const std::clock_t began = std::clock();
    ns3::Simulator::Run();
    const double spent = static_cast<double>(std::clock() - began) / CLOCKS_PER_SEC;
    ns3::Simulator::Destroy();
    std::printf("%lld %lld %lld %.6f\n", (long long)events, (long long)arrivals, (long long)lost[0], spent);
    return 0;
}
