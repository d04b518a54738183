// The mock cluster of librdkafka as a program: three brokers that speak Kafka's protocol, and keep everything in memory.
// It prints the brokers, obeys the lines that it reads, and ends with its input.
#include <librdkafka/rdkafka.h>
#include <librdkafka/rdkafka_mock.h>
#include <stdio.h>
#include <string.h>

enum { PRODUCE = 0, LIST_OFFSETS = 2, INIT_PRODUCER_ID = 22 };

int main(void) {
  char why[512];
  rd_kafka_t *client = rd_kafka_new(RD_KAFKA_PRODUCER, rd_kafka_conf_new(), why, sizeof why);
  if (client == NULL) {
    fprintf(stderr, "%s\n", why);
    return 1;
  }
  rd_kafka_mock_cluster_t *cluster = rd_kafka_mock_cluster_new(client, 3);
  // In later versions, 2.0.2 lists offsets of several partitions wrongly, and refuses the producer id of a producer that has none yet.
  rd_kafka_mock_set_apiversion(cluster, LIST_OFFSETS, 1, 3);
  rd_kafka_mock_set_apiversion(cluster, INIT_PRODUCER_ID, 0, 2);
  rd_kafka_mock_topic_create(cluster, "deliveries", 4, 3);
  rd_kafka_mock_topic_create(cluster, "deliveries.dead", 1, 3);
  printf("brokers %s\n", rd_kafka_mock_cluster_bootstraps(cluster));
  fflush(stdout);

  char line[64];
  while (fgets(line, sizeof line, stdin) != NULL) {
    if (strcmp(line, "refuse\n") == 0)
      for (int count = 0; count < 1000; count++)
        rd_kafka_mock_push_request_errors(cluster, PRODUCE, 1, RD_KAFKA_RESP_ERR_NOT_ENOUGH_REPLICAS);
    if (strcmp(line, "allow\n") == 0) rd_kafka_mock_clear_request_errors(cluster, PRODUCE);
    printf("done\n");
    fflush(stdout);
  }
  rd_kafka_mock_cluster_destroy(cluster);
  rd_kafka_destroy(client);
  return 0;
}
