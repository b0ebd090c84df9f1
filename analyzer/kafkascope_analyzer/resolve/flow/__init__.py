"""What flowed through each topic-partition, from producers to consumers, and how both were served."""
